import type { CommandModule } from 'yargs';
import type { ListedCluster } from '../clusters/list-clusters.ts';
import { documentText } from './json-document.ts';
import { outputOption } from './report-options.ts';
import { loadSite, siteOptions, type SiteArguments } from './site-options.ts';
import { reportError, type Terminal, writeIdle } from './terminal.ts';
import { textTable } from './text-table.ts';

interface ListArguments extends SiteArguments {
  readonly output: string;
}

/** `berth clusters list` */
export function listCommand(terminal: Terminal): CommandModule<object, ListArguments> {
  return {
    command: 'list',
    describe: "List the portal's clusters: server, credentials of users, file, the hook's context",
    builder: (yargs) =>
      siteOptions(yargs)
        .option('output', outputOption)
        .example('berth clusters list', 'Which clusters are configured, and where')
        .example('berth clusters list -o json', 'Print JSON: .clusters[].hook.context')
        .epilogue(
          "No cluster is contacted: `berth doctor` does that. HOOK is the context that the hook uses in root's kubeconfig; `none` if there is none, see `berth token setup`. Clusters with a mistake in their files follow as errors.",
        ),
    handler: async (args) => {
      const { listClusters } = await import('../clusters/list-clusters.ts');
      const site = await loadSite(args);
      const clusters = listClusters(site);
      if (args.output === 'json')
        terminal.stdout.write(
          documentText('ClusterList', {
            clusters,
            broken: site.broken.map(({ cluster, error: { code, message, hint } }) => ({
              ...{ cluster, code, message, next: hint },
            })),
          }),
        );
      else if (clusters.length > 0) terminal.stdout.write(clustersText(clusters));
      else writeIdle('no cluster', false, terminal);
      for (const { error } of site.broken) reportError(terminal, error);
    },
  };
}

function clustersText(clusters: readonly ListedCluster[]): string {
  const rows = clusters.map(({ name, server, auth, credentials, clusterApi, file, hook }) => [
    ...[name, server, auth, credentials, hook.context ?? 'none', clusterApi ?? '-', file],
  ]);
  return textTable(['NAME', 'SERVER', 'AUTH', 'CREDENTIALS', 'HOOK', 'CLUSTER API', 'FILE'], rows);
}
