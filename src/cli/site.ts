import type { Argv } from 'yargs';
import type { ClusterSettings } from '../config/settings.ts';
import type { BrokenCluster, LoadedSettings } from '../config/site-parts.ts';
import { BerthError } from '../errors.ts';

/** Options of every command that reads the site's configuration. */
export interface SiteArguments {
  readonly config?: string | undefined;
}

export function siteOptions<T>(yargs: Argv<T>): Argv<T & SiteArguments> {
  return yargs.option('config', {
    type: 'string',
    requiresArg: true,
    describe: "Berth's configuration [default: /etc/berth/berth.yml, where it is there]",
  });
}

/** The site's settings; the parser and the schemas are loaded only where they are needed. */
export async function loadSite({ config }: SiteArguments): Promise<LoadedSettings> {
  const { loadSettings } = await import('../settings/load-site.ts');
  return loadSettings(config === undefined ? {} : { configFile: config }, { cache: 'read' });
}

/**
 * The clusters that a command is about: all, or the one that was named.
 *
 * @throws `cluster-unknown`; the fault of the named one's configuration
 */
export function chosenClusters(
  { settings, broken }: LoadedSettings,
  name: string | undefined,
): { readonly clusters: readonly ClusterSettings[]; readonly broken: readonly BrokenCluster[] } {
  if (name === undefined) return { clusters: settings.clusters, broken };
  const fault = broken.find(({ cluster }) => cluster === name);
  if (fault !== undefined) throw fault.error;
  const cluster = settings.clusters.find((one) => one.name === name);
  if (cluster !== undefined) return { clusters: [cluster], broken: [] };
  const known = settings.clusters.map((one) => one.name).join(', ') || 'none';
  throw new BerthError(`there is no cluster ${name}; there are: ${known}`, {
    code: 'cluster-unknown',
    exit: 'usage',
    hint: "A cluster's name is that of its file in clusters.d, without .yml, and its v2.job.adapter is kubernetes.",
  });
}
