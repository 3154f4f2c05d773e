import { readFileSync } from 'node:fs';
import { isErrno } from '../errors/berth-error.ts';
import { type Metric, writeMetrics } from '../system/metrics-file.ts';
import type { LdapUsers } from './rules/ldap-users.ts';

/** A run that reads the directory. */
export interface SyncRun {
  /** Such as `berth_ldap_sync_`. */
  readonly prefix: string;
  /** Start of the run, in seconds since the epoch. */
  readonly started: number;
  readonly seconds: number;
  readonly success: boolean;
  /** Undefined if the directory could not be read completely. */
  readonly people: LdapUsers | undefined;
}

/**
 * Writes metrics in the format of node_exporter's textfile collector, atomically and readable by all. A
 * failed run keeps the time of the last success.
 *
 * @param own The writer's own; their names without the prefix.
 * @throws `file-system-read-only`, `disk-full` and the others of `writeAtomically`
 */
export async function writeSyncMetrics(
  file: string,
  { prefix, started, seconds, success, people }: SyncRun,
  own: readonly Metric[],
): Promise<void> {
  const last = success ? Math.floor(started) : formerSuccess(file, prefix);
  const metrics = [
    gauge('success', '1 if the last run completed without an error, otherwise 0.', success ? 1 : 0),
    gauge('last_run_timestamp_seconds', 'Start time of the last run.', Math.floor(started)),
    ...(last === undefined
      ? []
      : [gauge('last_success_timestamp_seconds', 'Start time of the last successful run.', last)]),
    gauge('duration_seconds', 'Duration of the last run, in seconds.', seconds),
    ...(people === undefined ? [] : peopleMetrics(people)),
    ...own,
  ];
  await writeMetrics(
    file,
    metrics.map((metric) => ({ ...metric, name: `${prefix}${metric.name}` })),
  );
}

function peopleMetrics({ users, groupNames, refused }: LdapUsers): Metric[] {
  const count = (what: 'user' | 'group'): number =>
    refused.filter((one) => one.what === what).length;
  return [
    gauge('users', 'Users of the directory.', users.size),
    gauge('groups', 'Groups of the directory.', groupNames.length),
    gauge('refused_users', 'Users whose LDAP entries were rejected as invalid.', count('user')),
    gauge('refused_groups', 'Groups whose LDAP entries were rejected as invalid.', count('group')),
  ];
}

export function gauge(name: string, help: string, value: Metric['value']): Metric {
  return { name, type: 'gauge', help, value };
}

function formerSuccess(file: string, prefix: string): number | undefined {
  try {
    const before = readFileSync(file, 'utf8');
    const line = before.split('\n').find((one) => one.startsWith(`${prefix}last_success_`));
    return line === undefined ? undefined : Number(line.split(' ')[1]);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
