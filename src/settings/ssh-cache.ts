import { deepFreeze } from '../config/deep-freeze.ts';
import type { Profile, SshSettings } from '../config/profile/profile.ts';
import { BerthError } from '../errors.ts';
import { fileIdentity, readConfigFile } from '../system/config-files.ts';
import { fromPlain, type PlainError, toPlain } from './serialized-error.ts';

/** What must be the same for the compiled settings to be what the YAML says. */
export interface SshCacheKey {
  /** Berth's own build: another one may read the same files differently. */
  readonly build: string;
  readonly configFile: string;
}

interface Contents {
  readonly key?: SshCacheKey;
  /** Every file and folder that was read, with its identity then. */
  readonly sources: readonly (readonly [path: string, identity: string])[];
  readonly settings: Omit<SshSettings, 'profiles' | 'broken'>;
  readonly profiles: readonly Profile[];
  readonly broken: readonly {
    readonly name: string;
    readonly error: PlainError;
    readonly groups?: readonly string[];
  }[];
}

/** Where root puts what it compiled, when nobody says otherwise: one file for each `ssh.yml`. */
export function sshCacheFile(configFile: string): string {
  if (configFile === '/etc/berth/ssh.yml') return '/var/cache/berth/ssh.json';
  return `/var/cache/berth/ssh${encodeURIComponent(configFile)}.json`;
}

/**
 * The compiled settings, if they are root's and no source changed since: one file is read, the others
 * are only looked at.
 *
 * @returns Nothing where they are not there, not current, or not to be trusted: then the YAML counts,
 *   which says the same and takes longer. `berth doctor` tells which of these it was.
 */
export function readSshCache(path: string, key: SshCacheKey): SshSettings | undefined {
  const contents = parse(path);
  if (contents?.key?.build !== key.build || contents.key.configFile !== key.configFile) {
    return undefined;
  }
  const same = contents.sources.every(([source, identity]) => fileIdentity(source) === identity);
  if (!same) return undefined;
  const { settings, profiles, broken } = contents;
  return Object.freeze({
    ...deepFreeze(settings),
    profiles: new Map(profiles.map((profile) => [profile.name, deepFreeze(profile)])),
    broken: new Map(
      broken.map(({ name, error, ...groups }) => [name, { error: fromPlain(error), ...groups }]),
    ),
  });
}

function parse(path: string): Contents | undefined {
  try {
    // UID 0, whoever asks: a user's own file must not say what his session may do.
    return JSON.parse(readConfigFile(path, 0).bytes.toString('utf8')) as Contents | undefined;
  } catch (error) {
    // Not root's, or cut short by a power cut.
    if (error instanceof BerthError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Keeps checked settings for the sessions of all users, mode 0644.
 *
 * @throws what `writeAtomically` throws, and errors of mkdir
 */
export async function writeSshCache(
  path: string,
  key: SshCacheKey,
  sources: ReadonlyMap<string, string>,
  { profiles, broken, ...settings }: SshSettings,
): Promise<void> {
  const { chmod, mkdir } = await import('node:fs/promises');
  const paths = await import('node:path');
  const { writeAtomically } = await import('../system/atomic-file.ts');
  const contents: Contents = {
    key,
    sources: [...sources],
    settings,
    profiles: [...profiles.values()],
    broken: [...broken].map(([name, { error, ...groups }]) => ({
      name,
      error: toPlain(error),
      ...groups,
    })),
  };
  const folder = paths.dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o755 });
  // PAM's umask may be any.
  if (made !== undefined) await chmod(folder, 0o755);
  await writeAtomically(path, JSON.stringify(contents), { mode: 0o644, replaceable: true });
}
