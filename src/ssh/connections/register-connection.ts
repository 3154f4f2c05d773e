import { rmSync } from 'node:fs';
import type { User } from '../../identity/user.ts';
import { processStartTime } from '../../system/process-start.ts';
import { parentPid, auditSession } from '../../system/processes.ts';
import { ensureRootDirectory, ensureUserDirectory } from '../../system/safe-directories.ts';
import { systemdUnitOf } from '../../system/process-unit.ts';
import { tcpConnectionOf } from '../../system/tcp-connection.ts';
import { connectionId, writeConnectionRecord, type ConnectionRecord } from './connection-record.ts';
import { findRuntimeDir, runtimeDirCandidates } from './runtime-dir.ts';
import { connectionRecordPath, userConnectionsDir, idleSinceFile } from './state-paths.ts';
import { waitForCleanup } from './wait-for-cleanup.ts';

/** PAM's items of a connection; only `rhost` comes from the client. */
export interface PamItems {
  readonly service: string;
  readonly rhost: string;
  readonly tty: string;
}

export interface RegisterConnectionInput {
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
  /** How long to wait for a running cleanup of the user's earlier containers and pods. Milliseconds. */
  readonly patienceMs: number;
}

/**
 * Records a connection that PAM has just opened and creates the directories that the user's containers need.
 * Root works in directories of root on the local disk, and reads nothing that the user wrote.
 *
 * @returns The connection's ID; undefined if sshd has ended by now.
 * @throws {BerthError} `directory-unsafe`, `lock-timeout`, `runtime-directory-not-mounted`; system errors
 */
export async function registerConnection(
  registration: RegisterConnectionInput,
): Promise<string | undefined> {
  const { user, monitor, run, storage, nsenter, patienceMs } = registration;
  const start = processStartTime(monitor);
  if (start === undefined) return undefined;
  const id = connectionId({ pid: monitor, start });
  ensureRootDirectory(userConnectionsDir({ run }, user.uid));
  writeConnectionRecord(connectionRecordPath({ run }, user.uid, id), recordOf(registration));
  rmSync(idleSinceFile({ run }, user.uid), { force: true });
  ensureUserDirectory(`${storage}/users/${user.uid}`, user);
  if (findRuntimeDir(user) !== runtimeDirCandidates(user)[0]) {
    const { mountRuntimeDir } = await import('./mount-runtime-dir.ts');
    await mountRuntimeDir({ run, nsenter }, user);
  }
  await waitForCleanup({ run }, user.uid, patienceMs);
  return id;
}

function recordOf({
  pam,
  user,
  monitor,
  hostProcesses,
  now,
}: RegisterConnectionInput): ConnectionRecord {
  const listener = parentPid(monitor);
  const session = ownSession(monitor, listener);
  const unit = listener === undefined ? undefined : systemdUnitOf(listener);
  return {
    ...{ user: user.name, ...pam, opened: now },
    ...(session === undefined ? {} : { session }),
    ...(hostProcesses ? { hostProcesses } : {}),
    ...tcpConnectionOf(monitor, pam.rhost.includes(':') ? 'tcp6' : 'tcp'),
    ...(unit === undefined ? {} : { unit }),
  };
}

/**
 * The monitor's audit session, if it belongs to this connection alone. Unless pam_loginuid ran before, it
 * is the session of the listening sshd and so of all its connections, and identifies nothing.
 */
function ownSession(monitor: number, listener: number | undefined): number | undefined {
  const session = auditSession(monitor);
  if (session === undefined || listener === undefined) return undefined;
  return auditSession(listener) === session ? undefined : session;
}
