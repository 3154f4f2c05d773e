import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock, type FileLock } from '../../system/file-lock.ts';

/** The work of the leader. `sync` is called for the other sessions while it lasts. */
export interface Leadership {
  /** @returns false if the leader is about to end: who asked waits for the next one */
  sync(): Promise<boolean>;
  /** Resolves when it has ended, for any reason. */
  readonly over: Promise<void>;
}

export interface ElectionInput {
  /** Path prefix of the lock and socket, in a directory of the user; the same for all sessions that may lead. */
  readonly place: string;
  /** @returns undefined if this session cannot lead; then it is not called again */
  readonly lead: () => Promise<Leadership | undefined>;
  readonly signal: AbortSignal;
}

/** Time until the next attempt if the lock is held but its holder does not listen yet. Milliseconds. */
const againMs = 200;

/** Time until this session tries to lead again after its lead has ended. Milliseconds. */
const afterFailureMs = 10_000;

const syncMs = 5_000;

/**
 * Makes one of a user's sessions the leader. The others wait until it ends, and ask it to `sync` when they start.
 *
 * @param settled called when this session leads, or when the leader has synchronized
 */
export async function leadOrFollow(input: ElectionInput, settled: () => void): Promise<void> {
  const { place, signal } = input;
  while (!signal.aborted) {
    const leader = await reached(`${place}.sock`);
    if (leader !== undefined) {
      await follow(leader, signal, settled);
      continue;
    }
    const lock = await tryLock(`${place}.lock`);
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
  lock: FileLock,
  { place, lead, signal }: ElectionInput,
  settled: () => void,
): Promise<boolean> {
  let server: Server | undefined;
  const followers = new Set<Socket>();
  const path = `${place}.sock`;
  try {
    const leading = await lead();
    if (leading === undefined) return false;
    // Its owner is dead, because we hold the lock.
    await rm(path, { force: true });
    server = createServer((socket) => {
      followers.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => followers.delete(socket));
      socket.on('data', () => {
        void leading.sync().then((lasts) => lasts && socket.write('\n'));
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

/** Returns when the leader has ended. */
async function follow(leader: Socket, signal: AbortSignal, settled: () => void): Promise<void> {
  const gone = new Promise((resolve) => leader.once('close', resolve));
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

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal);
    signal.addEventListener('abort', resolve, { once: true });
  });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
