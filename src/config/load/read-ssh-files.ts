import { configError } from '../schema/config-error.ts';
import type { BrokenProfile, Profile, SshSettings } from '../schema/profile/profile.ts';
import { brokenProfile, parseProfile } from '../schema/profile/profile-parse.ts';
import { parseSshSettings, sshSettings } from '../schema/ssh-settings.ts';
import { readYaml } from '../schema/yaml-document.ts';
import { expectBerthError } from '../../system/errors/berth-error.ts';
import { type ResolveConfigPath, asInstalled } from './config-path.ts';
import { decodeUtf8 } from '../../system/trusted-text.ts';
import { ConfigReader } from './config-reader.ts';

/** Of an installed configuration only root's files are accepted, whoever runs the process. */
const root = 0;

/**
 * Reads `ssh.yml` and all profiles. An error in a profile's file concerns only that profile.
 *
 * @param overlay of a configuration to try: its files may be the caller's
 * @returns the settings, and the reader, which knows the files they came from
 *
 * @throws BerthError `config-…` of `readConfigFile` and `readConfigDirectory`, `config-not-utf8`,
 *   `config-yaml-invalid`, `ssh-yml-invalid`, `config-not-world-readable`
 */
export function readSshFiles(
  configFile: string,
  overlay?: ResolveConfigPath,
): {
  readonly settings: SshSettings;
  readonly reader: ConfigReader;
} {
  const at = overlay ?? asInstalled;
  const file = at(configFile);
  const reader = new SshFilesReader(overlay === undefined ? root : (process.geteuid?.() ?? root));
  const { value, place } = readYaml(reader.text(file), file, 'core');
  const named = parseSshSettings(value, file, place);
  const options = { ...named, profilesDir: at(named.profilesDir) };
  const profiles = reader.profiles(options.profilesDir);
  return { settings: sshSettings(options, profiles, file, place), reader };
}

class SshFilesReader extends ConfigReader {
  profiles(directory: string): Map<string, Profile | BrokenProfile> {
    const names = this.directory(directory);
    const profiles = new Map<string, Profile | BrokenProfile>();
    for (const file of names) {
      const [, name, extension] = /^([^.].*)\.(ya?ml)$/.exec(file) ?? [];
      if (name === undefined) continue;
      const path = `${directory}/${file}`;
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
      expectBerthError(error);
      return brokenProfile(error, document);
    }
  }

  text(path: string): string {
    const file = this.file(path);
    if (file.worldReadable) return decodeUtf8(file);
    // Root could read it, the user's process could not, and both must get the same settings.
    const hint = `Run \`chmod go+r ${path}\`: sessions read it as the user.`;
    throw configError('config-not-world-readable', path, 'is not readable for everybody', hint);
  }
}

function misnamed(name: string, path: string): BrokenProfile {
  const hint = `Rename it to ${name}.yml.`;
  return { error: configError('profile-name-invalid', path, 'ends in .yaml', hint) };
}
