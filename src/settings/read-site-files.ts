import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseBerthYml, noBerthOptions, type BerthOptions } from '../config/berth-yml.ts';
import { builtIn } from '../config/built-in.ts';
import { type ClusterDefinition, parseCluster } from '../config/clusters-d.ts';
import { configError } from '../config/config-error.ts';
import { parseHookEnv } from '../config/hook-env/hook-env.ts';
import { hookEnvSettings } from '../config/hook-env/hook-env-settings.ts';
import type { SettingsWarning } from '../config/settings.ts';
import type { BrokenCluster, SiteParts } from '../config/site-parts.ts';
import { parseYaml, readYaml } from '../config/yaml-document.ts';
import { BerthError } from '../errors.ts';
import {
  type ConfigDirectory,
  type ConfigFile,
  fileIdentity,
  isOutsideTheFile,
  readConfigDirectory,
  readConfigFile,
} from '../system/config-files.ts';
import { utf8 } from './config-text.ts';

/** The parts of the settings, and what they were read from. */
export interface SiteFiles {
  readonly parts: SiteParts;
  /** Every file and directory that had a part in it, with its identity. */
  readonly sources: ReadonlyMap<string, string>;
  /** When the newest of them changed, in nanoseconds since the epoch. */
  readonly newestNs: bigint;
  /** True where the same files may read otherwise next time: one could not be read. */
  readonly transient: boolean;
}

/**
 * Reads and checks every file of the configuration. This is the slow way, with YAML and schemas.
 *
 * @throws BerthError what concerns the whole site: `berth.yml`, `hook.env`, the directory
 *   `clusters.d`. A fault of one cluster's file is among the parts.
 */
export function readSiteFiles(
  files: {
    configFile: string;
    configFileRequired: boolean;
    hookEnvFile?: string;
    clustersDir?: string;
  },
  uid: number,
): SiteFiles {
  const reader = new SiteFilesReader(uid);
  const read = reader.berthYml(files.configFile, files.configFileRequired);
  const { berth } = read;
  // null in berth.yml means that the site has none.
  const named = files.hookEnvFile ?? berth.hook_env;
  const hookEnvFile = named === undefined ? builtIn.hookEnvFile : named;
  const hookEnv =
    hookEnvFile === null ? undefined : reader.hookEnv(hookEnvFile, named !== undefined);
  const parts: SiteParts = {
    ...read,
    berthFile: files.configFile,
    ...(hookEnv === undefined ? {} : { hookEnv }),
    hookEnvFile: hookEnvFile ?? builtIn.hookEnvFile,
    clusters: reader.clusters(files.clustersDir ?? berth.clusters_dir ?? builtIn.clustersDir),
    clientSecrets: reader.clientSecrets(berth),
    warnings: reader.warnings,
  };
  return { ...reader.facts(), parts };
}

class SiteFilesReader {
  readonly warnings: SettingsWarning[] = [];
  private readonly sources = new Map<string, string>();
  private newestNs = 0n;
  private transient = false;
  private readonly uid: number;

  constructor(uid: number) {
    this.uid = uid;
  }

  facts(): Pick<SiteFiles, 'sources' | 'newestNs' | 'transient'> {
    const { sources, newestNs, transient } = this;
    return { sources, newestNs, transient };
  }

  berthYml(path: string, required: boolean): Pick<SiteParts, 'berth' | 'berthPlace'> {
    try {
      const { value, place } = readYaml(utf8(this.read(path)), path, 'core');
      return { berth: parseBerthYml(value, path, place), berthPlace: place };
    } catch (error) {
      if (required || !(error instanceof BerthError) || error.code !== 'config-missing')
        throw error;
      return { berth: noBerthOptions };
    }
  }

  /** @param required false: a host that has not even the directory has no OnDemand, and no such file */
  hookEnv(path: string, required: boolean): ReturnType<typeof hookEnvSettings> | undefined {
    let file: ConfigFile;
    try {
      file = this.read(path);
    } catch (error) {
      const isMissing = error instanceof BerthError && error.code === 'config-missing';
      if (required || !isMissing || existsSync(dirname(path))) throw error;
      return undefined;
    }
    const settings = hookEnvSettings(parseHookEnv(file.bytes, path), path);
    if (settings.clientSecret !== undefined) this.warnReadable(file, 'CLIENT_SECRET');
    return settings;
  }

  clusters(folder: string): (ClusterDefinition | BrokenCluster)[] {
    const { names } = this.note(folder, readConfigDirectory(folder, this.uid));
    const seen = new Set<string>();
    return names.flatMap((file) => {
      // ood_core reads both spellings and nothing that is hidden.
      const cluster = /^([^.].*)\.ya?ml$/.exec(file)?.[1];
      if (cluster === undefined) return [];
      const path = `${folder}/${file}`;
      const part = this.cluster(cluster, path);
      if (part === undefined) return [];
      if (!seen.has(cluster)) {
        seen.add(cluster);
        return [part];
      }
      const hint = 'Keep one of the .yml and .yaml files; OnDemand would take either.';
      const error = configError('cluster-twice', path, `${cluster} is there twice`, hint, {
        cluster,
      });
      return [{ cluster, error }];
    });
  }

  private cluster(cluster: string, path: string): ClusterDefinition | BrokenCluster | undefined {
    try {
      return parseCluster(parseYaml(utf8(this.read(path)), path, 'psych'), cluster, path);
    } catch (error) {
      if (!(error instanceof BerthError)) throw error;
      return { cluster, error };
    }
  }

  clientSecrets({ defaults, clusters }: BerthOptions): Map<string, string | BerthError> {
    const secrets = new Map<string, string | BerthError>();
    const all = [defaults, ...clusters.values()];
    for (const options of all) {
      if (options === undefined || options instanceof BerthError) continue;
      const path = options.credentials?.client_secret_file;
      if (path !== undefined && !secrets.has(path)) secrets.set(path, this.clientSecret(path));
    }
    return secrets;
  }

  private clientSecret(path: string): string | BerthError {
    try {
      const file = this.read(path);
      this.warnReadable(file, 'the client secret');
      return utf8(file).replace(/\r?\n$/, '');
    } catch (error) {
      if (!(error instanceof BerthError)) throw error;
      return error;
    }
  }

  private warnReadable(file: ConfigFile, what: string): void {
    if (!file.worldReadable) return;
    const message = `everybody on this host can read ${what}: run \`chmod o-r ${file.path}\``;
    this.warnings.push({ code: 'config-secret-readable-by-all', message, file: file.path });
  }

  private read(path: string): ConfigFile {
    // A file that is refused counts as well: once it is mended, it has another identity.
    this.sources.set(path, fileIdentity(path));
    try {
      return this.note(path, readConfigFile(path, this.uid));
    } catch (error) {
      if (isOutsideTheFile(error)) this.transient = true;
      throw error;
    }
  }

  private note<T extends ConfigFile | ConfigDirectory>(path: string, read: T): T {
    this.sources.set(path, read.identity);
    if (read.changedNs > this.newestNs) this.newestNs = read.changedNs;
    return read;
  }
}
