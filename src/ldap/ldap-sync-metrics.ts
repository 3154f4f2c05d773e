import { readFileSync } from 'node:fs';
import { isErrno } from '../errors.ts';
import { writeMetricsFile } from '../system/metrics-file.ts';
import type { LdapSyncReport } from './ldap-sync.ts';

export interface MetricsOptions {
  /** Of the start, seconds since the epoch. */
  readonly started: number;
  readonly seconds: number;
}

/**
 * Writes metrics in the format of node_exporter's textfile collector, in one step, readable by all. The
 * time of the last success outlives a failure.
 *
 * @param report Nothing where there was no whole answer of the directory.
 * @throws `read-only`, `disk-full` and the others of `writeAtomically`
 */
export async function writeLdapSyncMetrics(
  file: string,
  report: LdapSyncReport | undefined,
  { started, seconds }: MetricsOptions,
): Promise<void> {
  const success =
    report?.clusters.every((one) => 'synced' in one && one.synced.error === undefined) === true;
  const last = success ? Math.floor(started) : formerSuccess(file);
  const lines = [
    ...gauge('success', 'Whether the last run did all that it had to.', success ? 1 : 0),
    ...gauge('last_run_timestamp_seconds', 'When the last run began.', Math.floor(started)),
    ...(last === undefined
      ? []
      : gauge('last_success_timestamp_seconds', 'When the last success began.', last)),
    ...gauge('duration_seconds', 'How long the last run took.', seconds),
    ...(report === undefined ? [] : peopleMetrics(report)),
  ];
  await writeMetricsFile(file, `${lines.join('\n')}\n`);
}

function peopleMetrics({ people, clusters }: LdapSyncReport): string[] {
  const refused = (what: 'user' | 'group'): number =>
    people.refused.filter((one) => one.what === what).length;
  const each = (count: (synced: Synced) => number): [string, number][] =>
    clusters.flatMap((one) => ('synced' in one ? [[one.cluster, count(one.synced)]] : []));
  const of = (kind: string): [string, number][] =>
    each(({ changes }) => changes.filter((change) => change.kind === kind).length);
  return [
    ...gauge('users', 'Users of the directory.', people.users.size),
    ...gauge('groups', 'Groups of the directory.', people.groups),
    ...gauge('refused_users', 'Users whose entries are not believed.', refused('user')),
    ...gauge('refused_groups', 'Groups whose entries are not believed.', refused('group')),
    ...perCluster('updated_namespaces', 'Namespaces whose annotations changed.', of('update')),
    ...perCluster('marked_namespaces', 'Namespaces whose user is gone since.', of('mark')),
    ...perCluster('unmarked_namespaces', 'Namespaces whose user is back since.', of('unmark')),
    ...perCluster(
      'ownerless_namespaces',
      'Namespaces without an owner annotation.',
      each(({ ownerless }) => ownerless.length),
    ),
  ];
}

type Synced = Extract<LdapSyncReport['clusters'][number], { synced: unknown }>['synced'];

function gauge(name: string, help: string, value: number): string[] {
  return [...header(name, help), `berth_ldap_sync_${name} ${value}`];
}

function perCluster(name: string, help: string, values: readonly [string, number][]): string[] {
  const label = (cluster: string): string => cluster.replace(/["\\\n]/g, '_');
  return [
    ...header(name, help),
    ...values.map(
      ([cluster, value]) => `berth_ldap_sync_${name}{cluster="${label(cluster)}"} ${value}`,
    ),
  ];
}

function header(name: string, help: string): string[] {
  return [`# HELP berth_ldap_sync_${name} ${help}`, `# TYPE berth_ldap_sync_${name} gauge`];
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
