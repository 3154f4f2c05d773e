import type { CommandModule } from 'yargs';
import { defaultConfigFile } from '../config/schema/default-settings.ts';
import { asBerthError } from '../errors/berth-error.ts';
import type { ClusterTarget } from '../clusters/cluster-target.ts';
import type { LdapSyncReport } from '../ldap/ldap-sync.ts';
import { escapedForTerminal } from '../log.ts';
import { withProgress } from './kit/progress.ts';
import { metricsFile } from './kit/output-path.ts';
import {
  dryRunOption,
  inClusterOption,
  outputOption,
  textfileOption,
} from './kit/report-options.ts';
import {
  chosenClusters,
  loadSite,
  overlayOf,
  siteOptions,
  type SiteArguments,
} from './kit/site-options.ts';
import { reportError, type Terminal } from './kit/terminal.ts';
import { installedPath } from '../installed-path.ts';

interface LdapSyncArguments extends SiteArguments {
  readonly cluster?: string | undefined;
  readonly 'in-cluster'?: boolean | undefined;
  readonly 'dry-run': boolean;
  readonly 'accept-fewer': boolean;
  readonly timeout: string;
  readonly textfile?: string | undefined;
  readonly output: string;
}

/** `berth ldap-sync`: copies UID, GID and groups from LDAP to the namespaces of users. */
export function ldapSyncCommand(terminal: Terminal): CommandModule<object, LdapSyncArguments> {
  return {
    command: 'ldap-sync',
    describe: 'Copy UID, GID and groups from LDAP to the namespaces of users',
    builder: (yargs) =>
      siteOptions(yargs)
        .option('cluster', {
          type: 'string',
          requiresArg: true,
          describe: 'Only this cluster [default: all clusters of clusters.d]',
        })
        .option('in-cluster', inClusterOption)
        .option('dry-run', dryRunOption('Print what would be written, and write nothing'))
        .option('accept-fewer', {
          type: 'boolean',
          default: false,
          describe: 'Accept an answer with far fewer users or groups than the last one',
        })
        .option('timeout', {
          type: 'string',
          requiresArg: true,
          default: '5m',
          describe: 'Time limit for the LDAP server and all clusters together',
        })
        .option('textfile', textfileOption)
        .option('output', outputOption)
        .example('berth ldap-sync --dry-run', 'Print what the next run would write')
        .example(
          'berth ldap-sync --in-cluster',
          `Run in a pod, as the CronJob of ${installedPath('share/etc/kubernetes/ldap-sync')}`,
        )
        .epilogue(
          'Exit status: 0 all clusters are up to date; 69, 75, 77 or 78 (sysexits(3)) at least one is not, and standard error has the reason. An incomplete answer of the LDAP server changes nothing.',
        ),
    handler: (args) => ldapSync(args, terminal),
  };
}

async function ldapSync(args: LdapSyncArguments, terminal: Terminal): Promise<void> {
  const started = terminal.now() / 1000;
  let report: LdapSyncReport | undefined;
  let textfile: string | undefined;
  try {
    textfile = metricsFile(args.textfile);
    report = await run(args, terminal, started);
    const { ldapSyncJson, ldapSyncText } = await import('./ldap-sync-report.ts');
    const text = args.output === 'json' ? ldapSyncJson : ldapSyncText;
    terminal.stdout.write(text(report, args['dry-run']));
    for (const { what, name, dn, reason } of report.people.refused)
      terminal.stderr.write(
        `berth: ${what} ${escapedForTerminal(name)} is left out: ${escapedForTerminal(reason)} (${escapedForTerminal(dn)})\n`,
      );
    for (const one of report.clusters) {
      const error = 'error' in one ? one.error : one.synced.error;
      if (error !== undefined) reportError(terminal, error);
    }
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, 'berth ldap-sync'));
  }
  if (textfile === undefined || args['dry-run']) return;
  try {
    const { writeLdapSyncMetrics } = await import('../ldap/ldap-sync-metrics.ts');
    const seconds = terminal.now() / 1000 - started;
    await writeLdapSyncMetrics(textfile, report, { started, seconds });
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, 'berth ldap-sync: writing the metrics'));
  }
}

async function run(
  args: LdapSyncArguments,
  terminal: Terminal,
  now: number,
): Promise<LdapSyncReport> {
  const [{ syncFromLdap }, { loadLdapSettings }, { deadlineIn }, { parseSeconds }] =
    await Promise.all([
      import('../ldap/ldap-sync.ts'),
      import('../config/load/load-ldap-settings.ts'),
      import('../system/deadline.ts'),
      import('./kit/duration.ts'),
    ]);
  const overlay = await overlayOf(args);
  const deadline = deadlineIn(parseSeconds(args.timeout, 'timeout') * 1000);
  const { ldap, secrets, minimumUid } = loadLdapSettings({
    configFile: args.config ?? overlay?.resolve(defaultConfigFile) ?? defaultConfigFile,
    groupMayRead: args['in-cluster'] === true,
  });
  const targets = await targetsOf(args, terminal);
  let waitingFor = 'connecting to the directory';
  return withProgress(
    terminal,
    () => waitingFor,
    () =>
      syncFromLdap({
        ...{ ldap, secrets, targets, minimumUid, deadline, now },
        dryRun: args['dry-run'],
        acceptFewer: args['accept-fewer'],
        onProgress: (what) => {
          waitingFor = what;
        },
      }),
  );
}

/** A broken cluster's fault stands in its place: the others are synced. */
async function targetsOf(args: LdapSyncArguments, terminal: Terminal): Promise<ClusterTarget[]> {
  const { configuredTarget, inClusterTarget } = await import('../clusters/cluster-target.ts');
  if (args['in-cluster'] === true) return [inClusterTarget(terminal.env)];
  const loaded = await loadSite(args);
  const { clusters, broken } = chosenClusters(loaded, args.cluster);
  return [
    ...clusters.map((cluster) => configuredTarget(cluster, loaded.settings)),
    ...broken.map(({ cluster, error }) => ({ name: cluster, reach: () => Promise.reject(error) })),
  ];
}
