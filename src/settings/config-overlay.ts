import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, normalize, resolve } from 'node:path';
import { BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';

/** From the path of a configuration file, as the defaults and other files name it, to that of the file to read. */
export type ConfigPaths = (path: string) => string;

/** Where the configuration of this host is. */
const installed = ['/etc/berth', '/etc/ood/config'] as const;

const known = [
  'berth.yml',
  'ssh.yml',
  'profiles',
  'balancer.yml',
  'admission.yml',
  'hook.env',
  'clusters.d',
] as const;

/** The configuration of this host. */
export const installedPaths: ConfigPaths = (path) => path;

/** A directory with files of a configuration that is not installed yet. */
export interface ConfigOverlay {
  /** Absolute path. */
  readonly directory: string;
  readonly paths: ConfigPaths;
  /** The files and directories of the configuration that it has. */
  readonly found: readonly string[];
}

/**
 * A configuration on trial. What the directory has is read in place of what has the same name below /etc/berth and
 * /etc/ood/config, also if another file names that by its path; a subdirectory such as `profiles` as a whole. What it does
 * not have is read where it is installed, such as secrets that are not in a site's Git repository.
 *
 * @throws {BerthError} `config-missing` if it has no file of a configuration; system errors of readdir(2)
 */
export function configOverlay(directory: string): ConfigOverlay {
  const absolute = resolve(directory);
  if (statSync(absolute, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw missing(absolute, 'is not a directory');
  const names = new Set(readdirSync(absolute));
  const found = known.filter((name) => names.has(name));
  if (found.length === 0) throw missing(absolute, 'has no configuration');
  return {
    directory: absolute,
    found,
    paths: (path) => {
      const whole = normalize(path);
      const below = installed.find((one) => whole.startsWith(`${one}/`));
      if (below === undefined) return path;
      const other = join(absolute, whole.slice(below.length));
      return existsSync(other) ? other : path;
    },
  };
}

function missing(directory: string, found: string): BerthError {
  return new BerthError(`${escapeControl(directory)} ${found}`, {
    code: 'config-missing',
    hint: `Put files there with the names that they have when installed: ${known.join(', ')}. Those that it does not have are read from this host.`,
    fields: { file: directory },
  });
}
