import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freeLock, type OwnerLock } from '../../../system/owner-lock.ts';

/** Leads until it can not any more; `sync` is asked by the others while it does. */
export interface Lead {
  sync(): Promise<void>;
  /** Resolves when it is over, whatever the reason. */
  readonly over: Promise<void>;
}

export interface LeadInput {
  /** The user's own folder, and a name in it that all who may lead know. */
  readonly place: string;
  /** @returns nothing where it can not lead, and will not be asked again */
  readonly lead: () => Promise<Lead | undefined>;
  readonly signal: AbortSignal;
}

/** The holder of a lock that answers nobody has not begun to yet. Milliseconds. */
const againMs = 200;

/** A lead that is over may be so for a reason that passes. Milliseconds. */
const afterFailureMs = 10_000;

const syncMs = 5_000;

/**
 * One of a user's sessions leads, the others wait for its end and tell it when there is something new.
 *
 * @param settled Called once, when this session leads, or the one that does has heard of it.
 */
export async function leadOrFollow(input: LeadInput, settled: () => void): Promise<void> {
  const { place, signal } = input;
  while (!signal.aborted) {
    const leader = await reached(`${place}.sock`);
    if (leader !== undefined) {
      await follow(leader, signal, settled);
      continue;
    }
    const lock = await freeLock(`${place}.lock`);
    if (lock === undefined) {
      await pause(againMs, signal);
      continue;
    }
    const again = await leadWith(lock, input, settled);
    settled();
    if (!again) return;
    await pause(afterFailureMs, signal);
  }
}

/** @returns whether it may lead again */
async function leadWith(
  lock: OwnerLock,
  { place, lead, signal }: LeadInput,
  settled: () => void,
): Promise<boolean> {
  let server: Server | undefined;
  const followers = new Set<Socket>();
  const path = `${place}.sock`;
  try {
    const leading = await lead();
    if (leading === undefined) return false;
    // Whose it was is dead: we have the lock.
    await rm(path, { force: true });
    server = createServer((socket) => {
      followers.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => followers.delete(socket));
      socket.on('data', () => {
        void leading.sync().then(() => socket.write('\n'));
      });
    });
    server.on('error', () => undefined);
    server.listen(path);
    settled();
    await Promise.race([leading.over, aborted(signal)]);
    return true;
  } finally {
    server?.close();
    await lock.release();
    for (const socket of followers) socket.destroy();
  }
}

/** Until the leader is gone. */
async function follow(leader: Socket, signal: AbortSignal, settled: () => void): Promise<void> {
  const gone = new Promise<void>((resolve) => leader.once('close', () => resolve()));
  leader.once('data', settled);
  leader.resume();
  leader.write('\n');
  const late = setTimeout(settled, syncMs).unref();
  await Promise.race([gone, aborted(signal)]);
  clearTimeout(late);
  leader.destroy();
}

async function reached(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.once('error', () => resolve(undefined));
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
