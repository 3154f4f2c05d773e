import { lookupUser } from '../../system/identity/nss.ts';
import type { Logger } from '../../log.ts';
import { leaveConnectionCgroup } from '../../sessions/connections/connection-cgroup.ts';
import { closeConnection } from '../cleanup/close-connection.ts';
import { connectionBytes } from '../../sessions/connections/connection-bytes.ts';
import {
  connectionId,
  readConnectionRecord,
} from '../../sessions/connections/connection-record.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { callingMonitor } from '../../sessions/connections/sshd-monitor.ts';
import { connectionIn } from '../../sessions/connections/register-connection.ts';
import type { EventSpool } from '../../system/event-spool.ts';
import { sessionId } from '../../system/program/session-id.ts';
import { connectionRecordPath } from '../../sessions/connections/state-paths.ts';

export interface PamCloseInput {
  readonly name: string;
  /** PID of the parent now. */
  readonly parent: () => number;
  readonly configFile: string;
  /** `/run/berth` */
  readonly run: string;
  readonly log: Logger;
  readonly spool: EventSpool;
  /** SSH_CONNECTION, as sshd passes it to PAM's modules. */
  readonly sshConnection: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** PAM's close of a connection: cleans up what it started. Does nothing if its open was not recorded. */
export async function pamClose(input: PamCloseInput): Promise<number> {
  const { name, configFile, run, now } = input;
  if (name === 'root') return 0;
  const monitor = callingMonitor(input.parent);
  const id = connectionId(monitor);
  const user = lookupUser(name, { minimumUid: 1 });
  const record = readConnectionRecord(connectionRecordPath({ run }, user.uid, id));
  if (record === undefined) return 0;
  const settings = await loadSshSettings({ configFile });
  const session = sessionId(id);
  const log = input.log.with({ user: name, session });
  const site = { settings, run, log, now, session, spool: input.spool };
  const told = connectionIn(input.sshConnection, record.rhost);
  // Not beside the cleanup, in which this process has the rights of the user at times.
  const bytes = connectionBytes(monitor.pid, told);
  await leaveConnectionCgroup(site, monitor, user.uid);
  const closed = await closeConnection(site, user, { id, record, gone: false });
  for (const error of closed.failed) log.error(error);
  log.info('session closed', {
    rhost: record.rhost,
    seconds: Math.round(now() / 1000 - record.opened),
    processes: closed.processes,
    containers: closed.containers,
    ...bytes,
    ...closed.sessions,
  });
  return closed.failed[0]?.exitCode ?? 0;
}
