import { defaultConfigFile } from '../config/schema/default-settings.ts';
import { countText } from '../system/text/count-text.ts';
import { asBerthError, type BerthError } from '../system/errors/berth-error.ts';
import { installedPath } from '../system/program/installed-path.ts';
import type { ClusterSyncResult, LdapSyncReport } from '../clusters/ldap/sync-clusters.ts';
import { escapedForTerminal } from '../log.ts';
import { escapedLines } from './kit/text.ts';
import { command } from './kit/command.ts';
import {
  type ArgumentsOf,
  flag,
  inClusterOption,
  outputOption,
  text,
  textfileOption,
} from './kit/options.ts';
import { optionalOutputFile } from './kit/output-path.ts';
import { clusterTargets, overlayOf, siteOptions } from './kit/site-options.ts';
import { type Terminal, documentError, documentText, reportError } from './kit/terminal.ts';
import { withProgress } from './kit/progress.ts';

const options = {
  ...siteOptions,
  cluster: text('cluster', 'Only this cluster [default: all clusters of clusters.d]'),
  'in-cluster': inClusterOption,
  'dry-run': flag('Print what would be written, and write nothing'),
  'accept-fewer': flag('Accept an answer with far fewer users or groups than the last one'),
  timeout: text('TIME', 'Time limit for the LDAP server and all clusters together', {
    default: '5m',
  }),
  textfile: textfileOption,
  output: outputOption,
};

type LdapSyncArguments = ArgumentsOf<typeof options>;

/** `berth ldap-sync`: copies UID, GID and groups from LDAP to the namespaces of users. */
export const ldapSyncCommand = command({
  command: 'ldap-sync',
  describe: 'Copy UID, GID and groups from LDAP to the namespaces of users',
  options,
  without: { '--cluster': ['--in-cluster'], '--textfile': ['--dry-run'] },
  examples: [
    ['berth ldap-sync --dry-run', 'Print what the next run would write'],
    [
      'berth ldap-sync --in-cluster',
      `Run in a pod, as the CronJob of ${installedPath('share/etc/kubernetes/ldap-sync')}`,
    ],
  ],
  epilogue:
    'Exit status: 0 all clusters are up to date; 69, 75, 77 or 78 (sysexits(3)) at least one is not, and standard error has the reason. An incomplete answer of the LDAP server changes nothing.',
  run: ldapSync,
});

async function ldapSync(args: LdapSyncArguments, terminal: Terminal): Promise<void> {
  const started = terminal.now() / 1000;
  let report: LdapSyncReport | undefined;
  let textfile: string | undefined;
  const clusters: string[] = [];
  try {
    textfile = optionalOutputFile('--textfile', args.textfile);
    report = await run(args, terminal, { started, clusters });
    const text = args.output === 'json' ? ldapSyncJson : ldapSyncText;
    terminal.stdout.write(text(report, args['dry-run']));
    for (const { what, name, dn, reason } of report.people.refused)
      terminal.stderr.write(
        `berth: ${what} ${escapedForTerminal(name)} is left out: ${escapedForTerminal(reason)} (${escapedForTerminal(dn)})\n`,
      );
    for (const one of report.clusters) {
      const error = 'error' in one ? one.error : one.synced.error;
      if (error !== undefined) reportError(terminal, error);
      if ('synced' in one) reportRefused(one.cluster, one.synced.failed, terminal);
    }
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, 'berth ldap-sync'));
  }
  if (textfile === undefined || args['dry-run']) return;
  try {
    const { writeLdapSyncMetrics } = await import('../clusters/ldap/ldap-sync-metrics.ts');
    const seconds = terminal.now() / 1000 - started;
    await writeLdapSyncMetrics(textfile, clusters, report, { started, seconds });
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, 'berth ldap-sync: writing the metrics'));
  }
}

/** How many refused writes are printed for a cluster; JSON has all. */
const mostRefused = 20;

function reportRefused(cluster: string, failed: readonly BerthError[], terminal: Terminal): void {
  for (const error of failed.slice(0, mostRefused)) reportError(terminal, error);
  if (failed.length > mostRefused)
    terminal.stderr.write(
      `berth: ${cluster}: ${failed.length - mostRefused} more were not written; -o json has all\n`,
    );
}

/** @param clusters gets their names before anything else can fail */
async function run(
  args: LdapSyncArguments,
  terminal: Terminal,
  { started: now, clusters }: { readonly started: number; readonly clusters: string[] },
): Promise<LdapSyncReport> {
  const { syncFromLdap } = await import('../clusters/ldap/sync-clusters.ts');
  const { loadLdapSettings } = await import('../config/load/load-ldap-settings.ts');
  const { deadlineIn } = await import('../system/deadline.ts');
  const { parseSeconds } = await import('./kit/parse-seconds.ts');
  const { keepHeapSmall } = await import('../system/keep-heap-small.ts');
  keepHeapSmall();
  const overlay = await overlayOf(args);
  const deadline = deadlineIn(parseSeconds(args.timeout, 'timeout') * 1000);
  const targets = await clusterTargets(args, terminal);
  clusters.push(...targets.map(({ name }) => name));
  const { ldap, secrets, minimumUid } = loadLdapSettings({
    configFile: args.config ?? overlay?.resolve(defaultConfigFile) ?? defaultConfigFile,
    groupMayRead: args['in-cluster'],
  });
  let waitingFor = 'connecting to the directory';
  return withProgress(
    terminal,
    () => waitingFor,
    () =>
      syncFromLdap({
        ldap,
        secrets,
        targets,
        minimumUid,
        deadline,
        now,
        dryRun: args['dry-run'],
        acceptFewer: args['accept-fewer'],
        onProgress: (what) => {
          waitingFor = what;
        },
      }),
  );
}

/** A line for each changed namespace, and a summary for each cluster. */
function ldapSyncText(report: LdapSyncReport, dryRun: boolean): string {
  const { people, url } = report;
  const lines = [
    `${url}: ${countText(people.users.size, 'user')}, ${countText(people.groupNames.length, 'group')}`,
    ...report.clusters.flatMap((one) => clusterLines(one, dryRun)),
  ];
  return escapedLines(lines);
}

function clusterLines(one: ClusterSyncResult, dryRun: boolean): string[] {
  if ('error' in one) return [];
  const { changes, unchanged, ownerless, held, configMaps } = one.synced;
  const prefix = `${one.cluster}: `;
  const verbs = dryRun ? planned : done;
  return [
    ...changes.map(({ kind, namespace, owner, wanted, before }) => {
      const parts = Object.entries(wanted).flatMap(([key, value]) =>
        value === undefined || kind === 'mark'
          ? []
          : [`${key.replace('openondemand.org/', '')} ${before[key] ?? 'none'} -> ${value}`],
      );
      const detail = parts.length === 0 ? '' : ` (${parts.join('; ')})`;
      return `${prefix}${verbs[kind]} ${namespace} of ${owner}${detail}`;
    }),
    ...configMaps.flatMap(({ name, action, keys, unnameable }) => [
      ...(action === 'none'
        ? []
        : [`${prefix}${verbs[action]} ConfigMap ${name}, ${countText(keys, 'user')}`]),
      ...(unnameable.length === 0
        ? []
        : [
            `${prefix}ConfigMap ${name} leaves out ${unnameable.join(', ')}: these names are not valid ConfigMap keys`,
          ]),
    ]),
    ...ownerless.map(
      (name) =>
        `${prefix}${name} has no owner annotation: its user has not logged in since Berth was installed`,
    ),
    ...[...held].map(([name, reason]) => `${prefix}${name} is left as it is: ${reason}`),
    `${prefix}${countText(changes.length, 'namespace')} ${dryRun ? 'to change' : 'changed'}, ${unchanged} unchanged`,
  ];
}

const done = {
  create: 'created',
  update: 'changed',
  mark: 'marked as removed:',
  unmark: 'no longer marked as removed:',
};
const planned = {
  create: 'would create',
  update: 'would change',
  mark: 'would mark as removed:',
  unmark: 'would no longer mark as removed:',
};

/** The same as JSON, with stable names. */
function ldapSyncJson(report: LdapSyncReport, dryRun: boolean): string {
  const { people, url } = report;
  const value = {
    dryRun,
    server: url,
    users: people.users.size,
    groups: people.groupNames.length,
    refused: people.refused,
    clusters: report.clusters.map((one) => {
      if ('error' in one) return { cluster: one.cluster, error: documentError(one.error) };
      const { error, failed, changes, unchanged, ownerless, held, configMaps } = one.synced;
      return {
        cluster: one.cluster,
        changes: changes.map(({ namespace, owner, kind, wanted, before }) => ({
          namespace,
          owner,
          kind,
          before,
          after: Object.fromEntries(
            Object.entries(wanted).map(([key, after]) => [key, after ?? null]),
          ),
        })),
        unchanged,
        ownerless,
        held: [...held.keys()],
        configMaps,
        holdReasons: Object.fromEntries(held),
        failures: failed.map(documentError),
        ...(error && { error: documentError(error) }),
      };
    }),
  };
  return documentText('LdapSync', value);
}
