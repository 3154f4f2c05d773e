import type { Argv } from 'yargs';
import type { ClusterSettings } from '../config/settings.ts';
import type { BrokenCluster, LoadedSiteSettings } from '../config/site-files.ts';
import { BerthError } from '../errors.ts';
import type { ConfigOverlay, ResolveConfigPath } from '../settings/config-overlay.ts';

/** Options of each command that reads the configuration of the site. */
export interface SiteArguments {
  readonly config?: string | undefined;
}

export function siteOptions<T>(yargs: Argv<T>): Argv<T & SiteArguments> {
  return yargs.option('config', {
    type: 'string',
    requiresArg: true,
    // `render policies` does not read it.
    global: false,
    describe: 'Configuration of Berth [default: /etc/berth/berth.yml, if it exists]',
  });
}

/** The option of commands that only read the configuration. */
export interface OverlayArguments {
  readonly 'config-dir'?: string | undefined;
}

export const configDirOption = {
  type: 'string',
  requiresArg: true,
  global: false,
  describe:
    'Directory with a configuration to try: each file in it is read instead of the installed one of the same name',
} as const;

/** @throws {BerthError} those of `configOverlay` */
export async function overlayOf(args: OverlayArguments): Promise<ConfigOverlay | undefined> {
  const { 'config-dir': directory } = args;
  if (directory === undefined) return undefined;
  const { configOverlay } = await import('../settings/config-overlay.ts');
  return configOverlay(directory);
}

/** Which files a command reads. */
export async function siteFilesOf(
  args: SiteArguments & OverlayArguments,
): Promise<{ readonly configFile?: string; readonly overlay?: ResolveConfigPath | undefined }> {
  const overlay = (await overlayOf(args))?.resolve;
  return { ...(args.config !== undefined && { configFile: args.config }), overlay };
}

/** The settings of the site. Parser and schemas are loaded here, not at the start. */
export async function loadSite(
  args: SiteArguments & OverlayArguments,
): Promise<LoadedSiteSettings> {
  const { loadSiteSettings } = await import('../settings/load-site-settings.ts');
  return loadSiteSettings(await siteFilesOf(args), { cache: 'read' });
}

/**
 * The clusters of a command: all, or the named one.
 *
 * @throws {BerthError} `cluster-unknown`, or the error in the configuration of the named one
 */
export function chosenClusters(
  { settings, broken }: LoadedSiteSettings,
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
    hint: 'The name of a cluster is the name of its file in clusters.d without .yml; its v2.job.adapter must be kubernetes.',
  });
}
