import { textIfPresent } from '../system/if-present.ts';
import { clusterSamples, type Metric, writeMetrics } from '../system/metrics-file.ts';
import type { LdapUsers } from './rules/ldap-users.ts';

/** A run that reads the directory. */
export interface SyncRun {
  /** Such as `berth_ldap_sync_`. */
  readonly prefix: string;
  /** Start of the run, in seconds since the epoch. */
  readonly started: number;
  readonly seconds: number;
  /** For which clusters it was, and whether each has all of it. Empty if that is not known, without a configuration. */
  readonly success: ReadonlyMap<string, boolean>;
  /** Undefined if the directory could not be read completely. */
  readonly people: LdapUsers | undefined;
}

/**
 * Writes metrics in the format of node_exporter's textfile collector, atomically and readable by all. A
 * failed run keeps the time of the last success, and the clusters if its own are not known. Each series has a cluster: a host may run a
 * sync for each, and node_exporter takes one of two files with the same series.
 *
 * @param own The writer's own; their names without the prefix.
 * @throws `file-system-read-only`, `disk-full` and the others of `writeAtomically`
 */
export async function writeSyncMetrics(
  file: string,
  { prefix, started, seconds, success, people }: SyncRun,
  own: readonly Metric[],
): Promise<void> {
  const before = textIfPresent(file);
  const lastSuccess = clusterSamples(before, `${prefix}last_success_timestamp_seconds`);
  const lastRun = clusterSamples(before, `${prefix}last_run_timestamp_seconds`);
  const clusters = [...(success.size > 0 ? success : lastRun).keys()];
  const each = (value: number): Metric['value'] =>
    clusters.length === 0 ? value : new Map(clusters.map((cluster) => [cluster, value]));
  const ok = clusters.filter((cluster) => success.get(cluster) === true);
  for (const cluster of ok) lastSuccess.set(cluster, Math.floor(started));
  const metrics = [
    gauge(
      'success',
      '1 if the last run completed without an error, otherwise 0.',
      clusters.length === 0 ? 0 : new Map(clusters.map((one) => [one, ok.includes(one) ? 1 : 0])),
    ),
    gauge('last_run_timestamp_seconds', 'Start time of the last run.', each(Math.floor(started))),
    gauge(
      'last_success_timestamp_seconds',
      'Start time of the last successful run.',
      new Map([...lastSuccess].filter(([cluster]) => clusters.includes(cluster))),
    ),
    gauge('duration_seconds', 'Duration of the last run, in seconds.', each(seconds)),
    ...(people === undefined ? [] : peopleMetrics(people, each)),
    ...own,
  ];
  await writeMetrics(
    file,
    metrics.map((metric) => ({ ...metric, name: `${prefix}${metric.name}` })),
  );
}

function peopleMetrics(
  { users, groupNames, refused }: LdapUsers,
  each: (value: number) => Metric['value'],
): Metric[] {
  const count = (what: 'user' | 'group') => each(refused.filter((one) => one.what === what).length);
  return [
    gauge('users', 'Users of the directory.', each(users.size)),
    gauge('groups', 'Groups of the directory.', each(groupNames.length)),
    gauge('refused_users', 'Users whose LDAP entries were rejected as invalid.', count('user')),
    gauge('refused_groups', 'Groups whose LDAP entries were rejected as invalid.', count('group')),
  ];
}

export function gauge(name: string, help: string, value: Metric['value']): Metric {
  return { name, type: 'gauge', help, value };
}
