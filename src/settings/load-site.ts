import { statSync } from 'node:fs';
import { buildId } from '../build-id.ts';
import { builtIn } from '../config/built-in.ts';
import type { SettingsWarning } from '../config/settings.ts';
import type { LoadedSettings } from '../config/site-parts.ts';
import { asBerthError, BerthError, isErrno } from '../errors.ts';
import { peekConfigFile } from '../system/config-files.ts';
import { type CacheKey, readCachedSettings, writeCachedSettings } from './site-cache.ts';

export type { LoadedSettings } from '../config/site-parts.ts';

/** Which files to read; each is where the design says, unless told otherwise. */
export interface SettingsFiles {
  /** `berth.yml`; then it must be there. */
  readonly configFile?: string;
  /** Counts before `hook_env` in berth.yml: OSC's scripts take it as an argument. */
  readonly hookEnvFile?: string;
  /** Counts before `clusters_dir` in berth.yml. */
  readonly clustersDir?: string;
}

export interface LoadOptions {
  /** `off`: read everything. `read`: leave no trace, for a dry run. */
  readonly cache?: 'read-write' | 'read' | 'off';
  /** The build that the cache must be of; without one there is no cache. */
  readonly build?: string;
  /** Epoch milliseconds; the machine's clock where not said. */
  readonly now?: () => number;
}

const defaultConfigFile = '/etc/berth/berth.yml';

/** A file that changed this recently may change again within the same tick of its clock. */
const settledAfterNs = 2_000_000_000n;

/**
 * The site's checked and frozen settings, and beside them the clusters whose configuration is
 * faulty. Where nothing changed since the last time, one file is read (`STATE_DIR/settings.json`,
 * 0600); else all of them, with YAML and schemas loaded for it.
 *
 * @throws BerthError for what concerns the whole site: `config-…` of `readConfigFile`,
 *   `config-broken-yaml`, `hook-env-…`, `berth-yml-invalid`, `state-dir-unsafe`; exit 78
 */
export async function loadSettings(
  files: SettingsFiles = {},
  options: LoadOptions = {},
): Promise<LoadedSettings> {
  const uid = process.geteuid?.() ?? 0;
  const configFile = files.configFile ?? defaultConfigFile;
  const { cache = 'read-write', build = buildId, now = Date.now } = options;
  if (cache === 'off' || build === undefined) return (await readAll(files, uid)).loaded;

  const key: CacheKey = { build, asked: [configFile, files.hookEnvFile, files.clustersDir] };
  const stateDir = stateDirOf(configFile, uid);
  assertStateDir(stateDir, uid);
  const path = `${stateDir}/settings.json`;
  const warnings: SettingsWarning[] = [];
  const warn = (code: string, message: string): void => {
    warnings.push({ code, message, file: path });
  };
  try {
    const cached = readCachedSettings(path, key, uid);
    if (cached !== undefined) return cached;
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    warn('settings-cache-ignored', `${error.message}; every file is read instead`);
  }
  const { loaded, sources, newestNs, transient } = await readAll(files, uid);
  if (loaded.settings.stateDir !== stateDir) assertStateDir(loaded.settings.stateDir, uid);
  const settled = newestNs + settledAfterNs < BigInt(now()) * 1_000_000n;
  if (cache === 'read-write' && settled && !transient) {
    try {
      await writeCachedSettings(path, key, sources, loaded);
    } catch (error) {
      const { message } = asBerthError(error, path);
      warn('settings-cache-not-written', `${message}: every login reads every file`);
    }
  }
  return withWarnings(loaded, warnings);
}

async function readAll(
  files: SettingsFiles,
  uid: number,
): Promise<{
  loaded: LoadedSettings;
  sources: ReadonlyMap<string, string>;
  newestNs: bigint;
  transient: boolean;
}> {
  const { readSiteFiles } = await import('./read-site-files.ts');
  const { siteSettings } = await import('../config/site-settings.ts');
  const { parts, ...facts } = readSiteFiles(
    {
      ...files,
      configFile: files.configFile ?? defaultConfigFile,
      configFileRequired: files.configFile !== undefined,
    },
    uid,
  );
  return { loaded: siteSettings(parts), ...facts };
}

/**
 * Keys of issuers are believed and secrets are kept in it: who can write it can put another folder in
 * its place.
 */
function assertStateDir(path: string, uid: number): void {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  const foreign = status.uid !== 0 && status.uid !== uid;
  if (!foreign && (status.mode & 0o022) === 0) return;
  const what = foreign
    ? `belongs to UID ${status.uid}`
    : `can be written by others (mode ${(status.mode & 0o777).toString(8)})`;
  throw new BerthError(`${path} ${what}`, {
    code: 'state-dir-unsafe',
    exit: 'config',
    hint: `Look at what it holds, then: rm -r ${path}. The next login makes it anew.`,
    fields: { file: path },
  });
}

/**
 * Where the cache is, before YAML can be read: a plain `state_dir:` line of berth.yml is found as it
 * stands. Should it be written in another way, the cache is where the design has it.
 */
function stateDirOf(configFile: string, uid: number): string {
  try {
    const text = peekConfigFile(configFile, uid).bytes.toString('utf8');
    return (
      /^state_dir:[ \t]*["']?(\/[^\s"'#]+)["']?[ \t]*(?:#.*)?$/m.exec(text)?.[1] ?? builtIn.stateDir
    );
  } catch (error) {
    // Whoever reads the file for its contents reports this.
    if (error instanceof BerthError || isErrno(error)) return builtIn.stateDir;
    throw error;
  }
}

function withWarnings(
  loaded: LoadedSettings,
  warnings: readonly SettingsWarning[],
): LoadedSettings {
  if (warnings.length === 0) return loaded;
  const { settings, broken } = loaded;
  const all = Object.freeze([...settings.warnings, ...warnings]);
  return { settings: Object.freeze({ ...settings, warnings: all }), broken };
}
