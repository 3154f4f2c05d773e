import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, normalize, resolve as absolutePath } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { type ResolveConfigPath, asInstalled } from './config-path.ts';

const installedDirectories = ['/etc/berth', '/etc/ood/config'] as const;

const names = [
  'berth.yml',
  'ssh.yml',
  'profiles',
  'balancer.yml',
  'admission.yml',
  'hook.env',
  'hooks.env',
  'clusters.d',
] as const;

/** A directory with files of a configuration that is not installed yet. */
export interface ConfigOverlay {
  /** Absolute path. */
  readonly directory: string;
  readonly resolve: ResolveConfigPath;
  /** Which files and directories of a configuration it has. */
  readonly present: readonly string[];
}

/**
 * Lays a directory over /etc/berth and /etc/ood/config. What exists in it is read in place of the installed file or directory
 * of the same name, also if another file names that by its path. What it does not have is read where it is installed:
 * often secrets, which are not in a site's Git repository.
 *
 * @throws {BerthError} `config-missing` if it has no file of a configuration; system errors of readdir(2)
 */
export function configOverlay(path: string): ConfigOverlay {
  const directory = absolutePath(path);
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw missing(directory, 'is not a directory');
  const entries = new Set(readdirSync(directory));
  const present = names.filter((name) => entries.has(name));
  if (present.length === 0) throw missing(directory, 'has no configuration');
  return { directory, present, resolve };

  function resolve(installed: string): string {
    const whole = normalize(installed);
    const above = installedDirectories.find((one) => whole.startsWith(`${one}/`));
    if (above === undefined) return installed;
    const inOverlay = join(directory, whole.slice(above.length));
    return existsSync(inOverlay) ? inOverlay : installed;
  }
}

function missing(directory: string, problem: string): BerthError {
  return new BerthError('config-missing', `${escapeControl(directory)} ${problem}`, {
    hint: `Check the path. The directory must have at least one of ${names.join(', ')}; the others are read from this host.`,
    fields: { file: directory },
  });
}

/** The file of a cluster in clusters.d: OnDemand reads NAME.yml and NAME.yaml. Undefined if there is neither. */
export function clusterFile(
  clustersDir: string,
  name: string,
  at: ResolveConfigPath = asInstalled,
): string | undefined {
  return ['yml', 'yaml']
    .map((extension) => at(join(clustersDir, `${name}.${extension}`)))
    .find((file) => existsSync(file));
}
