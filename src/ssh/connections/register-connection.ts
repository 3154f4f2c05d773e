import { existsSync, rmSync } from 'node:fs';
import type { User } from '../../identity/user.ts';
import { startOf } from '../../system/process-start.ts';
import { parentOf, sessionOf } from '../../system/processes.ts';
import { ensureRootFolder, ensureUserFolder } from '../../system/root-folders.ts';
import { connectionId, writeConnection, type ConnectionRecord } from './connection-record.ts';
import { findRunFolder, runFoldersOf } from './runtime-dir.ts';
import { connectionFile, connectionsOf, endingLock, idleFile } from './state-paths.ts';

/** What PAM says of a connection; only `rhost` is the client's. */
export interface PamItems {
  readonly service: string;
  readonly rhost: string;
  readonly tty: string;
}

export interface Registration {
  readonly pam: PamItems;
  readonly user: User;
  /** PID of the sshd that serves the connection and will close it. */
  readonly monitor: number;
  /** `/run/berth` */
  readonly run: string;
  /** `storage` of ssh.yml. */
  readonly storage: string;
  /** `podman.nsenter` of ssh.yml. */
  readonly nsenter: string;
  readonly hostProcesses: boolean;
  /** Seconds since the epoch. */
  readonly now: number;
  /** How long the login waits for the end of the user's former containers and pods. Milliseconds. */
  readonly patienceMs: number;
}

/**
 * Notes a connection that PAM has just opened, and makes the folders that its user's containers need.
 * All is root's work in root's folders, on the local disk: nothing here reads what the user wrote.
 *
 * @returns The connection's ID; nothing where sshd is gone by now.
 * @throws `folder-unsafe`, `lock-timeout`, `run-folder-not-mounted`, errors of the system
 */
export async function registerConnection(registration: Registration): Promise<string | undefined> {
  const { user, monitor, run, storage, nsenter, patienceMs } = registration;
  const start = startOf(monitor);
  if (start === undefined) return undefined;
  const id = connectionId({ pid: monitor, start });
  ensureRootFolder(connectionsOf({ run }, user.uid));
  writeConnection(connectionFile({ run }, user.uid, id), recordOf(registration));
  rmSync(idleFile({ run }, user.uid), { force: true });
  ensureUserFolder(`${storage}/users/${user.uid}`, user);
  if (findRunFolder(user) !== runFoldersOf(user)[0]) {
    const { mountRunFolder } = await import('./runtime-dir-mount.ts');
    await mountRunFolder({ run, nsenter }, user);
  }
  // What was seen before the record was written may be taken away at this moment.
  const lock = endingLock({ run }, user.uid);
  if (existsSync(lock)) await waitForEnding(lock, patienceMs);
  return id;
}

function recordOf({ pam, user, monitor, hostProcesses, now }: Registration): ConnectionRecord {
  const session = ownSession(monitor);
  return {
    ...{ user: user.name, ...pam, opened: now },
    ...(session === undefined ? {} : { session }),
    ...(hostProcesses ? { hostProcesses } : {}),
  };
}

/**
 * The monitor's audit session, where it is this connection's alone. Without pam_loginuid before us it
 * is that of the sshd that listens, and of all its connections: what carries it could be anybody's.
 */
function ownSession(monitor: number): number | undefined {
  const session = sessionOf(monitor);
  const listener = parentOf(monitor);
  if (session === undefined || listener === undefined) return undefined;
  return sessionOf(listener) === session ? undefined : session;
}

async function waitForEnding(lock: string, waitMs: number): Promise<void> {
  const { takeLock } = await import('../../system/owner-lock.ts');
  await takeLock(lock, {
    waitMs,
    foreignStaleMs: 60_000,
    enough: () => !existsSync(lock),
  }).then((held) => held?.release());
}
