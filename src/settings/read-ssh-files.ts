import { configError } from '../config/config-error.ts';
import type { BrokenProfile, Profile, SshSettings } from '../config/profile/profile.ts';
import { brokenProfile, parseProfile } from '../config/profile/profile-parse.ts';
import { parseSshSettings, sshSettings } from '../config/ssh-settings.ts';
import { readYaml } from '../config/yaml-document.ts';
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

export interface SshFiles {
  readonly settings: SshSettings;
  /** Every file and folder that counted, with its identity when it was read. */
  readonly sources: ReadonlyMap<string, string>;
  /** The last change of any of them, in nanoseconds since the epoch. */
  readonly newestNs: bigint;
  /** True where a fault was the machine's, and may be gone at the next reading. */
  readonly transient: boolean;
}

/** Only root's word counts, whoever the running process belongs to. */
const root = 0;

/**
 * `ssh.yml` and all profiles, from their YAML. A fault in a profile's file is kept as that profile's.
 *
 * @throws BerthError `config-…` of `readConfigFile` and `readConfigDirectory`, `config-not-utf8`,
 *   `config-broken-yaml`, `ssh-yml-invalid`, `config-not-world-readable`
 */
export function readSshFiles(configFile: string): SshFiles {
  const reader = new Reader();
  const { value, place } = readYaml(reader.text(configFile), configFile, 'core');
  const options = parseSshSettings(value, configFile, place);
  const profiles = reader.profiles(options.profilesDir);
  const { sources, newestNs, transient } = reader;
  return {
    settings: sshSettings(options, profiles, configFile, place),
    sources,
    newestNs,
    transient,
  };
}

class Reader {
  readonly sources = new Map<string, string>();
  newestNs = 0n;
  transient = false;

  profiles(folder: string): Map<string, Profile | BrokenProfile> {
    const { names } = this.note(folder, readConfigDirectory(folder, root));
    const profiles = new Map<string, Profile | BrokenProfile>();
    for (const file of names) {
      const [, name, extension] = /^([^.].*)\.(ya?ml)$/.exec(file) ?? [];
      if (name === undefined) continue;
      const path = `${folder}/${file}`;
      if (extension === 'yml') profiles.set(name, this.profile(name, path));
      else if (!names.includes(`${name}.yml`)) profiles.set(name, misnamed(name, path));
    }
    return profiles;
  }

  private profile(name: string, path: string): Profile | BrokenProfile {
    let document: unknown;
    try {
      const { value, place } = readYaml(this.text(path), path, 'core');
      document = value;
      return parseProfile(value, name, path, place);
    } catch (error) {
      if (!(error instanceof BerthError)) throw error;
      return brokenProfile(error, document);
    }
  }

  text(path: string): string {
    // A file that is refused counts as well: once it is mended, it has another identity.
    this.sources.set(path, fileIdentity(path));
    try {
      const file = this.note(path, readConfigFile(path, root));
      if (file.worldReadable) return utf8(file);
    } catch (error) {
      if (isOutsideTheFile(error)) this.transient = true;
      throw error;
    }
    // Root could go on; the user's own process could not, and both must see the same.
    const hint = `Run \`chmod go+r ${path}\`: sessions read it as the user.`;
    throw configError('config-not-world-readable', path, 'is not readable for everybody', hint);
  }

  private note<T extends ConfigFile | ConfigDirectory>(path: string, read: T): T {
    this.sources.set(path, read.identity);
    if (read.changedNs > this.newestNs) this.newestNs = read.changedNs;
    return read;
  }
}

function misnamed(name: string, path: string): BrokenProfile {
  const hint = `Rename it to ${name}.yml.`;
  return { error: configError('profile-name-invalid', path, 'ends in .yaml', hint) };
}
