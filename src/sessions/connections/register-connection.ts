import { lstatSync, rmSync } from 'node:fs';
import { isIP } from 'node:net';
import type { User } from '../../system/identity/nss.ts';
import { systemdUnitOf } from '../../system/process-unit.ts';
import { auditSession, parentPid, type ProcessId } from '../../system/processes.ts';
import { ensureRootDirectory, ensureUserDirectory } from '../../system/safe-directories.ts';
import type { TcpConnection } from '../../system/tcp-connection.ts';
import { enterConnectionCgroup } from './connection-cgroup.ts';
import { connectionId, type ConnectionRecord, writeConnectionRecord } from './connection-record.ts';
import { findRuntimeDir, systemdRuntimeDir } from './runtime-dir.ts';
import {
  cleanupLockPath,
  connectionRecordPath,
  idleSinceFile,
  type SessionContext,
  userConnectionsDir,
} from './state-paths.ts';

/** PAM's items of a connection; only `rhost` comes from the client. */
export interface PamItems {
  readonly service: string;
  readonly rhost: string;
  readonly tty: string;
}

export interface RegisterConnectionInput {
  readonly pam: PamItems;
  readonly user: User;
  /** The sshd that serves the connection and will close it. */
  readonly monitor: ProcessId;
  /** `/run/berth` */
  readonly run: string;
  /** `storage` of ssh.yml. */
  readonly storage: string;
  /** `podman.nsenter` of ssh.yml. */
  readonly nsenter: string;
  readonly hostProcesses: boolean;
  /** `balancer_log` of ssh.yml. */
  readonly balancerLog?: string | undefined;
  /** SSH_CONNECTION, as sshd passes it to PAM's modules (since OpenSSH 7.8). The user may be able to change it. */
  readonly sshConnection?: string | undefined;
  /** Seconds since the epoch. */
  readonly now: number;
  /** How long to wait for a running cleanup of the user's earlier containers and pods. Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Records a connection that PAM has just opened and creates the directories that the user's containers need.
 * Root works in directories of root on the local disk, and reads nothing that the user wrote.
 *
 * @returns The connection's ID and record.
 * @throws {BerthError} `directory-unsafe`, `lock-timeout`, `runtime-directory-not-mounted`; system errors
 */
export async function registerConnection(
  registration: RegisterConnectionInput,
): Promise<{ readonly id: string; readonly record: ConnectionRecord }> {
  const { user, monitor, run, storage, nsenter, timeoutMs } = registration;
  const id = connectionId(monitor);
  ensureRootDirectory(userConnectionsDir({ run }, user.uid));
  const record = await recordOf(registration);
  writeConnectionRecord(connectionRecordPath({ run }, user.uid, id), record);
  const entering = enterConnectionCgroup({ run }, monitor, user.uid);
  // Awaited below: an error of what comes between is thrown first.
  entering.catch(() => undefined);
  rmSync(idleSinceFile({ run }, user.uid), { force: true });
  ensureUserDirectory(`${storage}/users/${user.uid}`, user);
  if (findRuntimeDir(user) !== systemdRuntimeDir(user)) {
    const { mountRuntimeDir } = await import('./mount-runtime-dir.ts');
    await mountRuntimeDir({ run, nsenter }, user);
  }
  await waitForCleanup({ run }, user.uid, timeoutMs);
  await entering;
  return { id, record };
}

async function recordOf({
  pam,
  user,
  monitor: { pid: monitor },
  hostProcesses,
  balancerLog,
  sshConnection,
  now,
}: RegisterConnectionInput): Promise<ConnectionRecord> {
  const listener = parentPid(monitor);
  const session = ownSession(monitor, listener);
  const unit = listener === undefined ? undefined : systemdUnitOf(listener);
  const places =
    balancerLog === undefined
      ? {}
      : await placesOf(monitor, {
          log: balancerLog,
          told: connectionIn(sshConnection, pam.rhost),
          now,
        });
  return {
    user: user.name,
    ...pam,
    opened: now,
    session,
    ...(hostProcesses && { hostProcesses }),
    ...places,
    unit,
  };
}

/** Bytes of the balancer's log, for a line of the last seconds. */
const recentLog = 256 * 1024;

/** Bytes of the kernel's lists of TCP connections, if sshd did not tell its own: of about 55,000. sshd waits. */
const mostOfTcpLists = 8 * 1024 * 1024;

type Places = Pick<ConnectionRecord, 'client' | 'peer' | 'local' | 'placesUnknown'>;

/**
 * Both ends of the connection, and its client. Only where the balancer's log is looked at: it takes some milliseconds, and
 * `berth sessions list` can look later. A connection is not refused because of the log.
 *
 * @param told by sshd; believed if the kernel says that it is the monitor's
 */
async function placesOf(
  monitor: number,
  input: { readonly log: string; readonly told: TcpConnection | undefined; readonly now: number },
): Promise<Places> {
  const { log, told, now } = input;
  const { holdsConnection, tcpConnectionsOf } = await import('../../system/tcp-connection.ts');
  const { clientsInLog, readBalancerLog } = await import('./balancer-log.ts');
  let connection = told !== undefined && holdsConnection(monitor, told) ? told : undefined;
  if (connection === undefined) {
    const { connections, complete } = tcpConnectionsOf([monitor], { mostBytes: mostOfTcpLists });
    if (!complete) return { placesUnknown: true };
    connection = connections.get(monitor);
    if (connection === undefined) return {};
  }
  try {
    const client = clientsInLog(readBalancerLog(log, recentLog))(connection, now);
    return { ...connection, client };
  } catch {
    return connection;
  }
}

/**
 * The connection of SSH_CONNECTION, `CLIENT PORT SERVER PORT`, if the client is that of PAM: sshd may have other connections, such as to a directory service.
 * With UseDNS, PAM has its name.
 */
export function connectionIn(text = '', rhost: string): TcpConnection | undefined {
  const [, client = '', clientPort, server = '', serverPort] =
    /^([0-9a-f.:]+) ([0-9]{1,5}) ([0-9a-f.:]+) ([0-9]{1,5})$/.exec(text) ?? [];
  if (isIP(client) === 0 || isIP(server) === 0) return undefined;
  if (isIP(rhost) !== 0 && rhost !== client) return undefined;
  return {
    local: { address: server, port: Number(serverPort) },
    peer: { address: client, port: Number(clientPort) },
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

/**
 * Waits for a running cleanup of the user, if there is one. It may have started before the new connection was
 * registered, and would then remove a container or pod that the connection opens meanwhile.
 *
 * @param timeoutMs At most.
 * @throws {BerthError} `lock-timeout`
 */
async function waitForCleanup(
  site: Pick<SessionContext, 'run'>,
  uid: number,
  timeoutMs: number,
): Promise<void> {
  const lock = cleanupLockPath(site, uid);
  if (!exists(lock)) return;
  const { takeLock } = await import('../../system/file-lock.ts');
  const stopWaitingIf = (): boolean => !exists(lock);
  const held = await takeLock(lock, { timeoutMs, foreignStaleMs: 60_000, stopWaitingIf });
  await held?.release();
}

/** A lock is a symlink without a target, for which `existsSync` is false. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
