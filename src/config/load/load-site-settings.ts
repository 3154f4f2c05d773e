import { statSync } from 'node:fs';
import { buildId } from '../../system/program/build-id.ts';
import { defaultConfigFile, defaultSettings } from '../schema/default-settings.ts';
import type { SettingsWarning, SiteSettings } from '../schema/settings.ts';
import type { BrokenCluster, LoadedSiteSettings } from '../schema/site-file-contents.ts';
import {
  asBerthError,
  BerthError,
  expectBerthError,
  isErrno,
} from '../../system/errors/berth-error.ts';
import type { LogCode } from '../../system/errors/error-codes.ts';
import { useLogFormat } from '../../log.ts';
import { readConfigFileUnchecked } from '../../system/config-files.ts';
import type { ResolveConfigPath } from './config-path.ts';
import type { ConfigReader } from './config-reader.ts';
import {
  deserializeError,
  type SerializedError,
  readSettingsCache,
  type SettingsCache,
  writeSettingsCache,
} from './settings-cache.ts';

export type { LoadedSiteSettings } from '../schema/site-file-contents.ts';

/** Which files to read, instead of those at the default paths. */
export interface SiteSettingsFiles {
  /** `berth.yml`. If given, the file must exist. */
  readonly configFile?: string;
  /** Overrides `hook_env` of berth.yml: OSC's scripts take it as an argument. */
  readonly hookEnvFile?: string;
  /** Overrides `clusters_dir` of berth.yml. */
  readonly clustersDir?: string;
  /** A configuration to try, of `configOverlay`. With it there is no cache. */
  readonly overlay?: ResolveConfigPath | undefined;
}

export interface SiteCacheOptions {
  /** `off`: read every file. `read`: write nothing, for a dry run. Default: `read-write`. */
  readonly cache?: 'read-write' | 'read' | 'off';
  /** The build that must have written the cache. Default: this one; without a build there is no cache. */
  readonly build?: string;
  /** Milliseconds since the epoch. Default: the system clock. */
  readonly now?: () => number;
}

/** What the cache holds: `LoadedSiteSettings` as JSON. */
interface KeptSettings {
  readonly settings: SiteSettings;
  readonly broken: readonly (Omit<BrokenCluster, 'error'> & { readonly error: SerializedError })[];
}

/**
 * The site's checked and frozen settings, and the clusters whose configuration is invalid. If no file
 * has changed since the last time, only the cache is read (`STATE_DIR/settings.json`, mode 0600);
 * otherwise every file, for which YAML and the schemas are loaded.
 *
 * @throws BerthError for what concerns the whole site: `config-…` of `readConfigFile`,
 *   `config-yaml-invalid`, `hook-env-…`, `berth-yml-invalid`, `state-dir-unsafe`; exit 78
 */
export async function loadSiteSettings(
  files: SiteSettingsFiles,
  options: SiteCacheOptions = {},
): Promise<LoadedSiteSettings> {
  const loaded = await load(files, options);
  useLogFormat(loaded.settings.logFormat);
  return loaded;
}

async function load(
  files: SiteSettingsFiles,
  options: SiteCacheOptions,
): Promise<LoadedSiteSettings> {
  const uid = process.geteuid?.() ?? 0;
  const configFile = files.configFile ?? defaultConfigFile;
  const { cache = 'read-write', build = buildId, now = Date.now } = options;
  if (cache === 'off' || build === undefined || files.overlay !== undefined)
    return (await readAll(files, uid)).loaded;

  const stateDir = stateDirOf(configFile, uid);
  assertStateDir(stateDir, uid);
  const kept: SettingsCache = {
    path: `${stateDir}/settings.json`,
    build,
    asked: [configFile, files.hookEnvFile, files.clustersDir],
    privateTo: uid,
  };
  const warnings: SettingsWarning[] = [];
  const warn = (code: LogCode, message: string): void => {
    warnings.push({ code, message, file: kept.path });
  };
  try {
    const cached = readSettingsCache(kept) as KeptSettings | undefined;
    if (cached !== undefined)
      return {
        settings: cached.settings,
        broken: cached.broken.map(({ error, ...rest }) => ({
          ...rest,
          error: deserializeError(error),
        })),
      };
  } catch (error) {
    expectBerthError(error);
    warn('settings-cache-ignored', `${error.message}; all configuration files were read instead`);
  }
  const { loaded, reader } = await readAll(files, uid);
  if (loaded.settings.stateDir !== stateDir) assertStateDir(loaded.settings.stateDir, uid);
  if (cache === 'read-write' && reader.isSettled(now())) {
    try {
      await writeSettingsCache(kept, reader.sources, loaded);
    } catch (error) {
      const { message } = asBerthError(error, kept.path);
      warn(
        'settings-cache-not-written',
        `${message}; until this is fixed, every login reads all configuration files`,
      );
    }
  }
  return withWarnings(loaded, warnings);
}

async function readAll(
  files: SiteSettingsFiles,
  uid: number,
): Promise<{ readonly loaded: LoadedSiteSettings; readonly reader: ConfigReader }> {
  const { readSiteFiles } = await import('./read-site-files.ts');
  const { siteSettings } = await import('../schema/site-settings.ts');
  const { parts, reader } = readSiteFiles(
    {
      ...files,
      configFile: files.configFile ?? defaultConfigFile,
      configFileRequired: files.configFile !== undefined,
    },
    uid,
  );
  return { loaded: siteSettings(parts), reader };
}

/**
 * The state directory holds secrets and trusted issuer keys, so nobody but root and this user may be
 * able to replace anything in it.
 */
function assertStateDir(path: string, uid: number): void {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  const foreign = status.uid !== 0 && status.uid !== uid;
  if (!foreign && (status.mode & 0o022) === 0) return;
  const what = foreign
    ? `belongs to UID ${status.uid}`
    : `can be written by others (mode ${(status.mode & 0o777).toString(8)})`;
  throw new BerthError('state-dir-unsafe', `${path} ${what}`, {
    hint: `Check its contents, then run: rm -r ${path}. The next hook creates it again.`,
    fields: { file: path },
  });
}

/**
 * The state directory, found without the YAML parser: by a plain `state_dir:` line of berth.yml. If the
 * key is written in another way, the cache is in the default state directory.
 */
function stateDirOf(configFile: string, uid: number): string {
  try {
    const text = readConfigFileUnchecked(configFile, uid).bytes.toString('utf8');
    return (
      /^state_dir:[ \t]*["']?(\/[^\s"'#]+)["']?[ \t]*(?:#.*)?$/m.exec(text)?.[1] ??
      defaultSettings.stateDir
    );
  } catch (error) {
    // `readAll` reads the same file and reports the error.
    if (error instanceof BerthError || isErrno(error)) return defaultSettings.stateDir;
    throw error;
  }
}

function withWarnings(
  loaded: LoadedSiteSettings,
  warnings: readonly SettingsWarning[],
): LoadedSiteSettings {
  if (warnings.length === 0) return loaded;
  const { settings, broken } = loaded;
  const all = Object.freeze([...settings.warnings, ...warnings]);
  return { settings: Object.freeze({ ...settings, warnings: all }), broken };
}
