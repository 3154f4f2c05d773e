import { buildId } from '../../system/program/build-id.ts';
import { useLogFormat } from '../../log.ts';
import type { BrokenProfile, Profile, SshSettings } from '../schema/profile/profile.ts';
import type { ResolveConfigPath } from './config-path.ts';
import {
  deserializeError,
  type SerializedError,
  readSettingsCache,
  type SettingsCache,
  writeSettingsCache,
} from './settings-cache.ts';

export interface SshSettingsFiles {
  /** `ssh.yml`, from root's command line, never from the user's. */
  readonly configFile?: string | undefined;
  /** The cache. Default: `sshCacheFile`. */
  readonly cacheFile?: string | undefined;
  /** The build that must have written the cache. Default: this one; without a build there is no cache. */
  readonly build?: string | undefined;
  /** A configuration to try, of `configOverlay`. With it there is no cache. */
  readonly overlay?: ResolveConfigPath | undefined;
}

/** What the cache holds: `SshSettings` as JSON. */
interface KeptSettings extends Omit<SshSettings, 'profiles' | 'broken'> {
  readonly profiles: readonly (readonly [name: string, profile: Profile])[];
  readonly broken: readonly (readonly [
    name: string,
    profile: Omit<BrokenProfile, 'error'> & { readonly error: SerializedError },
  ])[];
}

/** Where root keeps the settings, unless a test says otherwise: one file for each `ssh.yml`. */
export function sshCacheFile(configFile: string): string {
  if (configFile === '/etc/berth/ssh.yml') return '/var/cache/berth/ssh.json';
  return `/var/cache/berth/ssh${encodeURIComponent(configFile)}.json`;
}

/**
 * The site's SSH settings with all profiles, checked and frozen, for a process of any user: every file
 * must be root's and writable by nobody else. If root's cache is current, YAML and the schemas are not
 * loaded; the result is the same either way. Writes nothing.
 *
 * An invalid profile is in `broken`, with its error.
 *
 * @throws BerthError for what concerns the whole site: `config-…` of `readConfigFile`,
 *   `config-not-world-readable`, `config-not-utf8`, `config-yaml-invalid`, `ssh-yml-invalid`; exit 78
 */
export async function loadSshSettings(files: SshSettingsFiles = {}): Promise<SshSettings> {
  const { configFile, cache } = sourcesOf(files);
  const cached = fromCache(cache);
  if (cached !== undefined) return withLogFormat(cached);
  const { readSshFiles } = await import('./read-ssh-files.ts');
  return withLogFormat(readSshFiles(configFile, files.overlay).settings);
}

export interface UpdatedSshSettings {
  readonly settings: SshSettings;
  /**
   * `current`: nothing has changed since the last time. `unsettled`: not written, because a file changed
   * within the last two seconds or could not be read. `off`: not written, because there is no build.
   */
  readonly state: 'current' | 'written' | 'unsettled' | 'off';
}

/**
 * Root's part: writes the cache (mode 0644) that every session then reads instead of the YAML. Cheap if
 * it is current, so PAM's hook calls it for each connection.
 *
 * @param nowMs milliseconds since the epoch
 * @throws as `loadSshSettings`; and what `writeAtomically` and mkdir throw
 */
export async function updateSshSettingsCache(
  files: SshSettingsFiles,
  nowMs: number,
): Promise<UpdatedSshSettings> {
  const { configFile, cache } = sourcesOf(files);
  const cached = fromCache(cache);
  if (cached !== undefined) return { settings: withLogFormat(cached), state: 'current' };
  const { readSshFiles } = await import('./read-ssh-files.ts');
  const { settings, reader } = readSshFiles(configFile);
  withLogFormat(settings);
  if (cache === undefined) return { settings, state: 'off' };
  if (!reader.isSettled(nowMs)) return { settings, state: 'unsettled' };
  await writeSettingsCache(cache, reader.sources, settings);
  return { settings, state: 'written' };
}

function sourcesOf(files: SshSettingsFiles): {
  readonly configFile: string;
  readonly cache: SettingsCache | undefined;
} {
  const { configFile = '/etc/berth/ssh.yml', build = buildId } = files;
  if (build === undefined || files.overlay !== undefined) return { configFile, cache: undefined };
  const path = files.cacheFile ?? sshCacheFile(configFile);
  return { configFile, cache: { path, build, asked: [configFile] } };
}

/** What is logged from now on is in the format that the site has chosen. */
function withLogFormat(settings: SshSettings): SshSettings {
  useLogFormat(settings.logFormat);
  return settings;
}

function fromCache(cache: SettingsCache | undefined): SshSettings | undefined {
  const kept = cache && (readSettingsCache(cache) as KeptSettings | undefined);
  if (kept === undefined) return undefined;
  return Object.freeze({
    ...kept,
    profiles: new Map(kept.profiles),
    broken: new Map(
      kept.broken.map(([name, { error, ...rest }]) => [
        name,
        { error: deserializeError(error), ...rest },
      ]),
    ),
  });
}
