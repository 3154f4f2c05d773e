import { readFileSync } from 'node:fs';
import { isErrno } from '../errors/berth-error.ts';
import { writeMetrics, type Metric } from '../system/metrics-file.ts';
import type { LdapSyncReport } from './sync-clusters.ts';

export interface MetricsOptions {
  /** Start of the run, in seconds since the epoch. */
  readonly started: number;
  readonly seconds: number;
}

/**
 * Writes metrics in the format of node_exporter's textfile collector, atomically and readable by all. A
 * failed run keeps the time of the last success.
 *
 * @param report Undefined if the directory could not be read completely.
 * @throws `file-system-read-only`, `disk-full` and the others of `writeAtomically`
 */
export async function writeLdapSyncMetrics(
  file: string,
  report: LdapSyncReport | undefined,
  { started, seconds }: MetricsOptions,
): Promise<void> {
  const success =
    report?.clusters.every((one) => 'synced' in one && one.synced.error === undefined) === true;
  const last = success ? Math.floor(started) : formerSuccess(file);
  await writeMetrics(file, [
    gauge('success', '1 if the last run completed without an error, otherwise 0.', success ? 1 : 0),
    gauge('last_run_timestamp_seconds', 'Start time of the last run.', Math.floor(started)),
    ...(last === undefined
      ? []
      : [gauge('last_success_timestamp_seconds', 'Start time of the last successful run.', last)]),
    gauge('duration_seconds', 'Duration of the last run, in seconds.', seconds),
    ...(report === undefined ? [] : peopleMetrics(report)),
  ]);
}

function peopleMetrics({ people, clusters }: LdapSyncReport): Metric[] {
  const refused = (what: 'user' | 'group'): number =>
    people.refused.filter((one) => one.what === what).length;
  const each = (count: (synced: Synced) => number): Metric['value'] =>
    new Map(clusters.flatMap((one) => ('synced' in one ? [[one.cluster, count(one.synced)]] : [])));
  const of = (kind: string): Metric['value'] =>
    each(({ changes }) => changes.filter((change) => change.kind === kind).length);
  return [
    gauge('users', 'Users of the directory.', people.users.size),
    gauge('groups', 'Groups of the directory.', people.groups),
    gauge('refused_users', 'Users whose LDAP entries were rejected as invalid.', refused('user')),
    gauge(
      'refused_groups',
      'Groups whose LDAP entries were rejected as invalid.',
      refused('group'),
    ),
    gauge('updated_namespaces', 'Namespaces whose annotations changed.', of('update')),
    gauge(
      'marked_namespaces',
      'Namespaces that the last run marked as removed, because their user is no longer in LDAP.',
      of('mark'),
    ),
    gauge(
      'unmarked_namespaces',
      'Namespaces that the last run no longer marks as removed, because their user is in LDAP again.',
      of('unmark'),
    ),
    gauge(
      'held_namespaces',
      'Namespaces whose user was not found in LDAP, but may be somebody there.',
      each(({ held }) => held.size),
    ),
    gauge(
      'ownerless_namespaces',
      'Namespaces without an owner annotation.',
      each(({ ownerless }) => ownerless.length),
    ),
  ];
}

type Synced = Extract<LdapSyncReport['clusters'][number], { synced: unknown }>['synced'];

function gauge(name: string, help: string, value: Metric['value']): Metric {
  return { name: `berth_ldap_sync_${name}`, type: 'gauge', help, value };
}

function formerSuccess(file: string): number | undefined {
  try {
    const before = readFileSync(file, 'utf8');
    const seconds = /^berth_ldap_sync_last_success_timestamp_seconds (\d+)$/m.exec(before)?.[1];
    return seconds === undefined ? undefined : Number(seconds);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
