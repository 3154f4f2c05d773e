import { join, resolve } from 'node:path';
import type { ClusterTarget } from '../../clusters/access/cluster-target.ts';
import type { ConfigOverlay } from '../../config/load/config-overlay.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { unknownCluster } from '../../config/schema/config-error.ts';
import { defaultConfigFile } from '../../config/schema/default-settings.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { BrokenCluster, LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import { BerthError, asBerthError } from '../../system/errors/berth-error.ts';
import { type ArgumentsOf, text } from './options.ts';
import type { Terminal } from './terminal.ts';

const configDir = text(
  'directory',
  'Directory with a configuration to try: each file in it is read instead of the installed one of the same name',
);

export const configDirOption = { 'config-dir': configDir };

/** Of each command that reads the configuration of the site. */
export const siteOptions = {
  config: text('file', 'Another berth.yml [default: /etc/berth/berth.yml, if it exists]'),
  ...configDirOption,
};

export type SiteArguments = Partial<ArgumentsOf<typeof siteOptions>>;
type OverlayArguments = Pick<SiteArguments, 'config-dir'>;

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

/** @throws {BerthError} the errors of `loadSshSettings` */
export async function loadSsh(args: SiteArguments): Promise<SshSettings> {
  const { loadSshSettings } = await import('../../config/load/load-ssh-settings.ts');
  return loadSshSettings(await siteFilesOf(args));
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

/**
 * For a command of one cluster where there is none, or where several leave the choice open.
 *
 * @param hint how to choose
 * @returns an error `no-kubernetes-cluster` or `usage`
 */
export function noSingleCluster(
  clusters: readonly Pick<ClusterSettings, 'name'>[],
  hint: string,
): BerthError {
  if (clusters.length === 0)
    return new BerthError('no-kubernetes-cluster', 'no cluster is configured');
  const names = clusters.map(({ name }) => name).join(', ');
  return new BerthError('usage', `several clusters are configured: ${names}`, { hint });
}

/** Sessions are listed, and can be ended, with a configuration that has a mistake, too. */
export type SettingsRead =
  | { readonly settings: SshSettings; readonly error?: undefined }
  | { readonly settings?: undefined; readonly error: BerthError };

export async function readSessionSettings(args: SiteArguments): Promise<SettingsRead> {
  try {
    return { settings: await loadSsh(args) };
  } catch (thrown) {
    return { error: asBerthError(thrown, 'reading ssh.yml') };
  }
}

/**
 * The clusters of a command as it reaches them. The fault of a cluster with a mistake stands in its place: the others
 * go on.
 *
 * @param wanted of the settings of a cluster
 */
export async function clusterTargets(
  args: SiteArguments & { readonly cluster?: string | undefined; readonly 'in-cluster'?: boolean },
  { env }: Pick<Terminal, 'env'>,
  wanted: (cluster: ClusterSettings) => boolean = () => true,
): Promise<readonly ClusterTarget[]> {
  const { configuredTarget, inClusterTarget } =
    await import('../../clusters/access/cluster-target.ts');
  if (args['in-cluster'] === true) return [inClusterTarget(env)];
  const loaded = await loadSite(args);
  const { clusters, broken } = chosenClusters(loaded, args.cluster);
  return [
    ...clusters.filter(wanted).map((cluster) => configuredTarget(cluster, loaded.settings)),
    ...broken.map(({ cluster, error }) => ({ name: cluster, reach: () => Promise.reject(error) })),
  ];
}
