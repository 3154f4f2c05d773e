import { buildId } from '../build-id.ts';
import type { SshSettings } from '../config/profile/profile.ts';
import { readSshCache, sshCacheFile, writeSshCache } from './ssh-cache.ts';

export interface SshSettingsFiles {
  /** `ssh.yml`: of root's command line, never the user's. */
  readonly configFile?: string | undefined;
  /** What root compiled of it. */
  readonly cacheFile?: string | undefined;
  /** The build that this must be of; without one there is no cache. */
  readonly build?: string | undefined;
}

/** A file that changed this recently may change again within the same tick of its clock. */
const settledAfterNs = 2_000_000_000n;

/**
 * The site's SSH settings with all profiles, checked and frozen, for the process of a user: whatever
 * is read must be root's and writable by nobody else. Where root's compiled file is current, YAML and
 * schemas are not even loaded; else they are, and the result is the same.
 *
 * A broken profile is in `broken`, with its error. The cache is never written here.
 *
 * @throws BerthError for what concerns the whole site: `config-…` of `readConfigFile`,
 *   `config-not-world-readable`, `config-not-utf8`, `config-broken-yaml`, `ssh-yml-invalid`; exit 78
 */
export async function loadSshSettings(files: SshSettingsFiles = {}): Promise<SshSettings> {
  const { configFile, cacheFile, key } = placesOf(files);
  const cached = key === undefined ? undefined : readSshCache(cacheFile, key);
  if (cached !== undefined) return cached;
  const { readSshFiles } = await import('./read-ssh-files.ts');
  return readSshFiles(configFile).settings;
}

export interface CompiledSshSettings {
  readonly settings: SshSettings;
  /**
   * `current`: nothing changed since the last time. `unsettled`: a file changed within the last two
   * seconds, or could not be read just now; the next call writes. `off`: no build to write for.
   */
  readonly state: 'current' | 'written' | 'unsettled' | 'off';
}

/**
 * Root's part: makes the one file that every session then reads instead of the YAML. Cheap where it is
 * current, so that it can be called at each login.
 *
 * @param nowMs milliseconds since the epoch
 * @throws as `loadSshSettings`; and what `writeAtomically` and mkdir throw
 */
export async function compileSshSettings(
  files: SshSettingsFiles = {},
  nowMs: number = Date.now(),
): Promise<CompiledSshSettings> {
  const { configFile, cacheFile, key } = placesOf(files);
  const cached = key === undefined ? undefined : readSshCache(cacheFile, key);
  if (cached !== undefined) return { settings: cached, state: 'current' };
  const { readSshFiles } = await import('./read-ssh-files.ts');
  const { settings, sources, newestNs, transient } = readSshFiles(configFile);
  if (key === undefined) return { settings, state: 'off' };
  const settled = newestNs + settledAfterNs < BigInt(nowMs) * 1_000_000n;
  if (!settled || transient) return { settings, state: 'unsettled' };
  await writeSshCache(cacheFile, key, sources, settings);
  return { settings, state: 'written' };
}

function placesOf(files: SshSettingsFiles) {
  const { configFile = '/etc/berth/ssh.yml', build = buildId } = files;
  const { cacheFile = sshCacheFile(configFile) } = files;
  return { configFile, cacheFile, key: build === undefined ? undefined : { build, configFile } };
}
