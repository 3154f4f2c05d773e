import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseBerthYml, emptyBerthOptions, type BerthOptions } from '../schema/berth-yml.ts';
import { defaultSettings } from '../schema/default-settings.ts';
import { type ClusterDefinition, parseOodCluster } from '../schema/ood-cluster-file.ts';
import { configError } from '../schema/config-error.ts';
import { parseHookEnv } from '../schema/hook-env/hook-env.ts';
import { hookEnvSettings } from '../schema/hook-env/hook-env-settings.ts';
import type { SettingsWarning } from '../schema/settings.ts';
import type { BrokenCluster, SiteFileContents } from '../schema/site-file-contents.ts';
import { readYaml } from '../schema/yaml-document.ts';
import { BerthError, expectBerthError } from '../../system/errors/berth-error.ts';
import type { ConfigFile } from '../../system/config-files.ts';
import { type ResolveConfigPath, asInstalled } from './config-path.ts';
import { decodeUtf8 } from '../../system/trusted-text.ts';
import { ConfigReader } from './config-reader.ts';

/**
 * Reads and checks every file of the site's configuration. Slow: needs YAML and the schemas.
 *
 * @param uid the user, besides root, whose files are accepted
 * @returns the parts of the settings, and the reader, which knows the files they came from
 * @throws BerthError if berth.yml, hook.env or the directory `clusters.d` is at fault. An error in one
 *   cluster's file is among the parts.
 */
export function readSiteFiles(
  files: {
    configFile: string;
    configFileRequired: boolean;
    hookEnvFile?: string;
    clustersDir?: string;
    overlay?: ResolveConfigPath | undefined;
  },
  uid: number,
): { readonly parts: SiteFileContents; readonly reader: ConfigReader } {
  const at = files.overlay ?? asInstalled;
  const berthFile = at(files.configFile);
  const reader = new SiteFilesReader(uid, at);
  const read = reader.berthYml(berthFile, files.configFileRequired);
  const { berth } = read;
  // null in berth.yml: the site has no hook.env.
  const named = files.hookEnvFile ?? berth.hook_env;
  const hookEnvFile = named === null ? null : reader.hookEnvFile(named);
  const hookEnv =
    hookEnvFile === null ? undefined : reader.hookEnv(hookEnvFile, named !== undefined);
  const parts: SiteFileContents = {
    ...read,
    berthFile,
    hookEnv,
    hookEnvFile: hookEnvFile ?? defaultSettings.hookEnvFile,
    clusters: reader.clusters(
      at(files.clustersDir ?? berth.clusters_dir ?? defaultSettings.clustersDir),
    ),
    clientFiles: reader.clientFiles(berth),
    warnings: reader.warnings,
  };
  return { parts, reader };
}

export class SiteFilesReader extends ConfigReader {
  readonly warnings: SettingsWarning[] = [];
  private readonly at: ResolveConfigPath;

  constructor(uid: number, at: ResolveConfigPath) {
    super(uid);
    this.at = at;
  }

  berthYml(path: string, required: boolean): Pick<SiteFileContents, 'berth' | 'berthPlace'> {
    try {
      const { value, place } = readYaml(decodeUtf8(this.file(path)), path, 'core');
      return { berth: parseBerthYml(value, path, place), berthPlace: place };
    } catch (error) {
      if (required || !(error instanceof BerthError) || error.code !== 'config-missing')
        throw error;
      return { berth: emptyBerthOptions };
    }
  }

  /** @param named the path in the configuration */
  hookEnvFile(named: string | undefined): string {
    if (named !== undefined) return this.at(named);
    const { hookEnvFile, otherHookEnvFile } = defaultSettings;
    return this.firstPresent([this.at(hookEnvFile), this.at(otherHookEnvFile)]);
  }

  /** @param required false: the file may be absent if its directory is, because then there is no OnDemand */
  hookEnv(path: string, required: boolean): ReturnType<typeof hookEnvSettings> | undefined {
    let file: ConfigFile;
    try {
      // OnDemand's Puppet module makes an empty file: for bash, it sets nothing.
      file = this.file(path, { mayBeEmpty: true });
    } catch (error) {
      const isMissing = error instanceof BerthError && error.code === 'config-missing';
      if (required || !isMissing || existsSync(dirname(path))) throw error;
      return undefined;
    }
    const settings = hookEnvSettings(parseHookEnv(file.bytes, path), path);
    if (settings.clientSecret !== undefined) this.warnReadable(file, 'CLIENT_SECRET');
    return settings;
  }

  clusters(directory: string): (ClusterDefinition | BrokenCluster)[] {
    const seen = new Set<string>();
    return this.directory(directory).flatMap((file) => {
      // ood_core reads both extensions, and no hidden file.
      const cluster = /^([^.].*)\.ya?ml$/.exec(file)?.[1];
      if (cluster === undefined) return [];
      const path = `${directory}/${file}`;
      const part = this.cluster(cluster, path);
      if (part === undefined) return [];
      if (!seen.has(cluster)) {
        seen.add(cluster);
        return [part];
      }
      const hint =
        'Remove the .yml or the .yaml file. Which of the two OnDemand uses is not defined.';
      const error = configError('cluster-duplicate', path, `${cluster} is configured twice`, hint, {
        cluster,
      });
      return [{ cluster, error }];
    });
  }

  private cluster(cluster: string, path: string): ClusterDefinition | BrokenCluster | undefined {
    try {
      const { value, place } = readYaml(decodeUtf8(this.file(path)), path, 'psych');
      return parseOodCluster(value, cluster, path, place);
    } catch (error) {
      expectBerthError(error);
      return { cluster, error };
    }
  }

  clientFiles({ defaults, clusters }: BerthOptions): Map<string, string | BerthError> {
    const contents = new Map<string, string | BerthError>();
    const read = (path: string | undefined, check: (file: ConfigFile) => void): void => {
      if (path !== undefined && !contents.has(path))
        contents.set(path, this.clientFile(path, check));
    };
    const all = [defaults, ...clusters.values()];
    for (const options of all) {
      if (options === undefined || options instanceof BerthError) continue;
      const { credentials } = options;
      read(credentials?.client_key_file, assertPrivate);
      read(credentials?.client_certificate_file, () => undefined);
      read(credentials?.client_secret_file, (file) => this.warnReadable(file, 'the client secret'));
    }
    return contents;
  }

  private clientFile(path: string, check: (file: ConfigFile) => void): string | BerthError {
    try {
      const file = this.file(this.at(path));
      check(file);
      return decodeUtf8(file).replace(/\r?\n$/, '');
    } catch (error) {
      expectBerthError(error);
      return error;
    }
  }

  private warnReadable(file: ConfigFile, what: string): void {
    if (!file.worldReadable) return;
    const message = `every user of this host can read ${what}: run \`chmod o-r ${file.path}\``;
    this.warnings.push({ code: 'config-secret-readable-by-all', message, file: file.path });
  }
}

function assertPrivate({ path, worldReadable }: ConfigFile): void {
  if (!worldReadable) return;
  const message = 'every user of this host can read this private key';
  const hint = `Replace the key if somebody may have read it, and run \`chmod 0600 ${path}\`.`;
  throw configError('client-key-not-private', path, message, hint);
}
