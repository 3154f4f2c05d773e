import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { defaultConfigFile, defaultSettings } from '../../config/schema/default-settings.ts';
import type { DiscoveredChange } from '../../cluster-discovery/write-cluster.ts';
import { BerthError } from '../../errors/berth-error.ts';
import { installedPath } from '../../installed-path.ts';
import { escapedForTerminal } from '../../log.ts';
import { parseSeconds } from '../kit/duration.ts';
import { documentText } from '../kit/json-document.ts';
import { outputDirectory } from '../kit/output-path.ts';
import { withProgress } from '../kit/progress.ts';
import { dryRunOption, listOption, outputOption } from '../kit/report-options.ts';
import { configFileOf, siteOptions, type SiteArguments } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface DiscoverArguments extends SiteArguments {
  readonly kubeconfig: string;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
  readonly 'clusters-dir': string;
  readonly 'ca-dir': string;
  readonly issuer?: readonly string[] | undefined;
  readonly audience?: readonly string[] | undefined;
  readonly 'dry-run': boolean;
  readonly 'allow-none': boolean;
  readonly timeout: string;
  readonly output: string;
}

/** `berth clusters discover` */
export function discoverCommand(terminal: Terminal): CommandModule<object, DiscoverArguments> {
  return {
    command: 'discover',
    describe: 'Write clusters.d and berth.yml for the Clusters of a Cluster API management cluster',
    builder: options,
    handler: (args) => discover(args, terminal),
  };
}

function options(yargs: Argv): Argv<DiscoverArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return siteOptions(yargs)
    .option('kubeconfig', {
      ...text,
      demandOption: true,
      describe: 'Kubeconfig of the management cluster; berth.yml then names this file',
    })
    .option('context', { ...text, describe: 'Context in it [default: the current one]' })
    .option('namespace', { ...text, describe: 'Only Clusters in this namespace [default: all]' })
    .option('clusters-dir', {
      ...text,
      default: defaultSettings.clustersDir,
      describe: "OnDemand's directory of clusters",
    })
    .option('ca-dir', {
      ...text,
      default: '/etc/berth/clusters',
      describe: "Directory for the clusters' CA certificates",
    })
    .option('issuer', {
      ...listOption,
      describe: "Another issuer whose tokens clusters may get, besides the site's own (repeatable)",
    })
    .option('audience', {
      ...listOption,
      describe: 'An audience that Clusters may have although another cluster has it (repeatable)',
    })
    .option('dry-run', dryRunOption('Print what would change, and write nothing'))
    .option('allow-none', {
      type: 'boolean',
      default: false,
      describe:
        'Remove the files of all clusters if the management cluster has no Cluster any more',
    })
    .option('timeout', { ...text, default: '30s', describe: 'Time limit' })
    .option('output', outputOption)
    .example(
      'berth clusters discover --kubeconfig /root/.kube/management --dry-run',
      'Print the Clusters and what would change',
    )
    .example(
      'berth clusters discover --kubeconfig /root/.kube/management',
      'Write the files; run it again, or from a timer, to follow changes',
    )
    .epilogue(
      'Needs root. Files in clusters.d that discover did not write are left alone. In its own files only address, CA and authentication change. Files of a deleted Cluster are removed.',
    );
}

async function discover(args: DiscoverArguments, terminal: Terminal): Promise<void> {
  const [{ discoverClusters }, { readSiteProvider }, { assertRoot }, { deadlineIn }] =
    await Promise.all([
      import('../../cluster-discovery/discover.ts'),
      import('../../config/load/read-site-files.ts'),
      import('../../system/as-user.ts'),
      import('../../system/deadline.ts'),
    ]);
  const { context, namespace } = args;
  if (!args['dry-run']) assertRoot();
  const clustersDir = outputDirectory('--clusters-dir', args['clusters-dir']);
  const caDir = outputDirectory('--ca-dir', args['ca-dir']);
  const config = configFileOf(args);
  const { issuer, audience } = readSiteProvider(config, process.geteuid?.() ?? 0);
  const deadline = deadlineIn(parseSeconds(args.timeout, 'timeout') * 1000).signal;
  const changes = await withProgress(
    terminal,
    () => 'waiting for the management cluster',
    () =>
      discoverClusters({
        management: {
          file: resolve(args.kubeconfig),
          context,
        },
        namespace,
        config,
        issuers: [...(issuer === undefined ? [] : [issuer]), ...(args.issuer ?? [])],
        audience,
        sharedAudiences: args.audience ?? [],
        ...{ clustersDir, caDir },
        dryRun: args['dry-run'],
        allowNone: args['allow-none'],
        deadline,
      }),
  );
  const dryRun = args['dry-run'];
  const next = dryRun ? [] : nextSteps(changes, config);
  if (args.output === 'json')
    terminal.stdout.write(documentText('ClusterDiscovery', { dryRun, clusters: changes, next }));
  else terminal.stdout.write(changesText(changes, next));
  const failed = changes.filter((one) => one.failed);
  if (failed.length > 0) throw incomplete(failed);
}

function incomplete(failed: readonly DiscoveredChange[]): BerthError {
  const clusters = failed.map(({ cluster }) => cluster).join(', ');
  return new BerthError(`skipped because of errors: ${clusters}`, { code: 'discover-incomplete' });
}

/** The hook's right to make the tokens of users' accounts, which `credentials: service-account` needs. */
const tokensOfAccounts = installedPath('share/etc/kubernetes/service-account-tokens');

/** What the admin does for each new cluster. */
function nextSteps(changes: readonly DiscoveredChange[], config: string): string[] {
  const more = config === defaultConfigFile ? '' : ` --config ${config}`;
  return changes.flatMap(({ change, name, credentials }) =>
    change !== 'new'
      ? []
      : [
          `berth token setup --cluster ${name}${more}`,
          ...(credentials === 'service-account'
            ? [`on ${name}, as its admin: kubectl apply -k ${tokensOfAccounts}`]
            : []),
        ],
  );
}

function changesText(changes: readonly DiscoveredChange[], next: readonly string[]): string {
  if (changes.length === 0) return 'the management cluster has no Clusters\n';
  const lines = changes.flatMap(
    ({ name, cluster, change, reason, endpoint, credentials, files }) => [
      `${name}: ${change}${reason === undefined ? '' : `: ${reason}`}`,
      ...(endpoint === undefined
        ? []
        : [`  ${endpoint}, Cluster ${cluster}, ${credentials ?? 'left as it is'}`]),
      ...files.map((file) => `  ${file}`),
    ],
  );
  const all = [...lines, ...next.map((step) => `next: ${step}`)];
  return `${all.map((line) => escapedForTerminal(line)).join('\n')}\n`;
}
