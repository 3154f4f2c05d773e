import type { ListedCluster } from '../../clusters/access/list-clusters.ts';
import { command } from '../kit/command.ts';
import { loadSite, overlayOf, siteOptions } from '../kit/site-options.ts';
import { reportErrors, writeIdle } from '../kit/terminal.ts';
import { escapedLines, textTable } from '../kit/text.ts';

export const listClustersCommand = command({
  command: 'list',
  describe: 'List the configured clusters with server, user credentials, hook context and file',
  options: siteOptions,
  examples: [['berth clusters list', 'Which clusters are configured, and where']],
  epilogue:
    "HOOK CONTEXT is the context in root's kubeconfig that the hook uses, or `none`: run `berth token setup`. Clusters with invalid files are reported as errors after the table. No cluster is contacted.",
  run: async (args, terminal) => {
    const { listClusters } = await import('../../clusters/access/list-clusters.ts');
    const site = await loadSite(args);
    const clusters = listClusters(site, (await overlayOf(args))?.resolve);
    if (clusters.length > 0) terminal.stdout.write(clustersText(clusters));
    else writeIdle('no clusters', false, terminal);
    terminal.stderr.write(withoutHookText(clusters));
    reportErrors(terminal, site.broken);
  },
});

/** The clusters to which the hook has no access. */
function withoutHookText(clusters: readonly ListedCluster[]): string {
  const lines = clusters.flatMap(({ name, hook: { kubeconfig, problem } }) =>
    problem === undefined
      ? []
      : [
          `warning: ${name}: the hook has no context in ${kubeconfig}: ${problem}`,
          `next: berth token setup --cluster ${name}`,
        ],
  );
  return escapedLines(lines);
}

function clustersText(clusters: readonly ListedCluster[]): string {
  const rows = clusters.map(({ name, server, auth, credentials, clusterApi, file, hook }) => [
    name,
    server,
    auth,
    credentials,
    hook.context ?? 'none',
    clusterApi ?? '-',
    file,
  ]);
  return textTable(
    ['NAME', 'SERVER', 'AUTH', 'CREDENTIALS', 'HOOK CONTEXT', 'CLUSTER API', 'FILE'],
    rows,
  );
}
