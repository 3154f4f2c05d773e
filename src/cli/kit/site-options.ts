import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { defaultConfigFile } from '../../config/schema/default-settings.ts';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { BrokenCluster, LoadedSiteSettings } from '../../config/schema/site-files.ts';
import { unknownCluster } from '../../config/schema/config-error.ts';
import type { ConfigOverlay, ResolveConfigPath } from '../../config/load/config-overlay.ts';

/** Options of each command that reads the configuration of the site. */
export interface SiteArguments {
  /** berth.yml, whatever the command. */
  readonly config?: string | undefined;
  readonly 'config-dir'?: string | undefined;
}

export type OverlayArguments = Omit<SiteArguments, 'config'>;

export const configDirOption = {
  type: 'string',
  requiresArg: true,
  global: false,
  describe:
    'Directory with a configuration to try: each file in it is read instead of the installed one of the same name',
} as const;

export function siteOptions<T>(yargs: Argv<T>): Argv<T & SiteArguments> {
  return yargs
    .option('config', {
      type: 'string',
      requiresArg: true,
      // `render policies` does not read it.
      global: false,
      describe: 'Another berth.yml [default: /etc/berth/berth.yml, if it exists]',
    })
    .option('config-dir', configDirOption);
}

/** Of commands that read ssh.yml, which `--config` named. */
export const sshConfigOptions = {
  'config-dir': configDirOption,
  config: former('--config-dir'),
} as const;

/** An option whose name has changed, which goes on with a notice. */
export function former<Name extends string>(replacedBy: Name) {
  return { type: 'string', requiresArg: true, hidden: true, deprecated: replacedBy } as const;
}

/** @throws {BerthError} those of `configOverlay` */
export async function overlayOf(args: OverlayArguments): Promise<ConfigOverlay | undefined> {
  const { 'config-dir': directory } = args;
  if (directory === undefined) return undefined;
  const { configOverlay } = await import('../../config/load/config-overlay.ts');
  return configOverlay(directory);
}

/** Which files a command reads. */
export async function siteFilesOf(
  args: SiteArguments,
): Promise<{ readonly configFile?: string; readonly overlay?: ResolveConfigPath | undefined }> {
  const overlay = (await overlayOf(args))?.resolve;
  return { ...(args.config !== undefined && { configFile: resolve(args.config) }), overlay };
}

/** berth.yml of a command that writes it. */
export function configFileOf({ config, 'config-dir': directory }: SiteArguments): string {
  return resolve(
    config ?? (directory === undefined ? defaultConfigFile : join(directory, 'berth.yml')),
  );
}

/** The settings of the site. Parser and schemas are loaded here, not at the start. */
export async function loadSite(args: SiteArguments): Promise<LoadedSiteSettings> {
  const { loadSiteSettings } = await import('../../config/load/load-site-settings.ts');
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
  throw unknownCluster(
    name,
    settings.clusters.map((one) => one.name),
  );
}
