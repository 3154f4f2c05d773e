import { lookupUser } from '../../identity/nss.ts';
import type { Logger } from '../../log.ts';
import { startOf } from '../../system/process-start.ts';
import { endConnection } from '../cleanup/close-connection.ts';
import { connectionId, readConnection } from '../connections/connection-record.ts';
import { loadSshSettings } from '../../settings/load-ssh.ts';
import { connectionFile } from '../connections/state-paths.ts';

export interface CloseInput {
  readonly name: string;
  readonly caller: number;
  readonly configFile: string;
  /** `/run/berth` */
  readonly run: string;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** PAM's close of a connection: cleans up what it started. Does nothing if its open was not recorded. */
export async function closeByPam(input: CloseInput): Promise<number> {
  const { name, caller, configFile, run, log, now } = input;
  const start = startOf(caller);
  if (start === undefined || name === 'root') return 0;
  const id = connectionId({ pid: caller, start });
  const user = lookupUser(name, { minimumUid: 1 });
  const record = readConnection(connectionFile({ run }, user.uid, id));
  if (record === undefined) return 0;
  const settings = await loadSshSettings({ configFile });
  const site = { settings, run, log, now };
  const closed = await endConnection(site, user, { id, record, gone: false });
  const fields = { user: name, connection: id };
  for (const error of closed.failed) log.error(error, fields);
  log.info('session closed', {
    ...{ ...fields, rhost: record.rhost, seconds: Math.round(now() / 1000 - record.opened) },
    ...{ processes: closed.processes, containers: closed.containers },
  });
  return closed.failed[0]?.exitCode ?? 0;
}
