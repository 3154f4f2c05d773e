import { resolve } from 'node:path';
import type { DiscoveredChange, Documents } from './documents.ts';
import { defaultConfigFile, defaultSettings } from '../../config/schema/default-settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { escapedForTerminal } from '../../log.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import { type ArgumentsOf, flag, list, outputOption, text } from '../../cli/kit/options.ts';
import { outputDirectory } from '../../cli/kit/output-path.ts';
import { configFileOf, siteOptions } from '../../cli/kit/site-options.ts';
import { type Terminal, documentText } from '../../cli/kit/terminal.ts';
import { withProgress } from '../../cli/kit/progress.ts';
import { parseSeconds } from '../../cli/kit/parse-seconds.ts';

const options = {
  ...siteOptions,
  kubeconfig: text('file', 'Kubeconfig of the management cluster; berth.yml then names this file', {
    demandOption: true,
  }),
  context: text('CONTEXT', 'Context in it [default: the current one]'),
  namespace: text('NAMESPACE', 'Only Clusters in this namespace [default: all]'),
  'clusters-dir': text('directory', "OnDemand's directory of clusters", {
    default: defaultSettings.clustersDir,
  }),
  'ca-dir': text('directory', "Directory for the clusters' CA certificates", {
    default: '/etc/berth/clusters',
  }),
  issuer: list(
    'URL',
    "Another issuer whose tokens clusters may get, besides the site's own (repeatable)",
  ),
  audience: list(
    'AUDIENCE',
    'An audience that Clusters may have although another cluster has it (repeatable)',
  ),
  'dry-run': flag('Print what would change, and write nothing'),
  'allow-none': flag(
    'Remove the files of all clusters if the management cluster has no Cluster any more',
  ),
  timeout: text('TIME', 'Time limit', { default: '30s' }),
  output: outputOption,
};

/** `berth clusters discover` */
export const discoverCommand = command({
  ...companionCommands.clustersDiscover,
  options,
  examples: [
    [
      'berth clusters discover --kubeconfig /root/.kube/management --dry-run',
      'Print the Clusters and what would change',
    ],
    [
      'berth clusters discover --kubeconfig /root/.kube/management',
      'Write the files; run it again, or from a timer, to follow changes',
    ],
  ],
  epilogue:
    'Needs root. Files in clusters.d that discover did not write are left alone. In its own files only address, CA and authentication change. Files of a deleted Cluster are removed.',
  run: discover,
});

async function discover(args: ArgumentsOf<typeof options>, terminal: Terminal): Promise<void> {
  const [{ discoverClusters }, { readSiteProvider }, { assertRoot }, { deadlineIn }] =
    await Promise.all([
      import('./discover-clusters.ts'),
      import('./read-site-provider.ts'),
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
        clustersDir,
        caDir,
        dryRun: args['dry-run'],
        allowNone: args['allow-none'],
        deadline,
      }),
  );
  const dryRun = args['dry-run'];
  const next = dryRun ? [] : nextSteps(changes, config);
  if (args.output === 'json')
    terminal.stdout.write(
      documentText<Documents>('ClusterDiscovery', { dryRun, clusters: changes, next }),
    );
  else terminal.stdout.write(changesText(changes, next));
  const failed = changes.filter((one) => one.failed);
  if (failed.length > 0) throw incomplete(failed);
}

function incomplete(failed: readonly DiscoveredChange[]): BerthError {
  const clusters = failed.map(({ cluster }) => cluster).join(', ');
  return new BerthError('discover-incomplete', `skipped because of errors: ${clusters}`);
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
