import { gauge, type SyncRun, writeSyncMetrics } from '../../directory/sync-metrics.ts';
import type { Metric } from '../../system/metrics-file.ts';
import type { LdapSyncReport } from './sync-clusters.ts';

/**
 * Writes the metrics of a run.
 *
 * @param clusters The names of all, as far as they are known.
 * @param report Undefined if the directory could not be read completely.
 * @throws as `writeSyncMetrics`
 */
export async function writeLdapSyncMetrics(
  file: string,
  clusters: readonly string[],
  report: LdapSyncReport | undefined,
  times: Pick<SyncRun, 'started' | 'seconds'>,
): Promise<void> {
  const done = report?.clusters.filter(
    (one) => 'synced' in one && one.synced.error === undefined && one.synced.failed.length === 0,
  );
  const names = new Set(done?.map(({ cluster }) => cluster));
  const success = new Map(clusters.map((cluster) => [cluster, names.has(cluster)]));
  const run = { ...times, prefix: 'berth_ldap_sync_', success, people: report?.people };
  await writeSyncMetrics(file, run, report === undefined ? [] : clusterMetrics(report));
}

function clusterMetrics({ clusters }: LdapSyncReport): Metric[] {
  const each = (count: (synced: Synced) => number): Metric['value'] =>
    new Map(clusters.flatMap((one) => ('synced' in one ? [[one.cluster, count(one.synced)]] : [])));
  const of = (kind: string): Metric['value'] =>
    each(({ changes }) => changes.filter((change) => change.kind === kind).length);
  return [
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
      'refused_writes',
      'Namespaces and ConfigMaps that the API server did not let the last run write.',
      each(({ failed }) => failed.length),
    ),
    gauge(
      'ownerless_namespaces',
      'Namespaces without an owner annotation.',
      each(({ ownerless }) => ownerless.length),
    ),
  ];
}

type Synced = Extract<LdapSyncReport['clusters'][number], { synced: unknown }>['synced'];
