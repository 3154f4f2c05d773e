import { BerthError } from '../../../system/errors/berth-error.ts';
import { nearestKey } from '../nearest-key.ts';
import type { Profile, SshSettings } from './profile.ts';

/**
 * The profile that a command line names.
 *
 * @throws {BerthError} `profile-missing`, exit 64, or the error in the profile
 */
export function namedProfile(
  { profiles, broken }: Pick<SshSettings, 'profiles' | 'broken'>,
  name: string,
): Profile {
  const error = broken.get(name)?.error;
  if (error !== undefined) throw error;
  const profile = profiles.get(name);
  if (profile !== undefined) return profile;
  const near = nearestKey(name, [...profiles.keys()]);
  throw new BerthError('profile-missing', `there is no profile ${JSON.stringify(name)}`, {
    exit: 'usage',
    hint:
      near === undefined
        ? 'The profiles are files NAME.yml in /etc/berth/profiles, or in profiles_dir of ssh.yml.'
        : `Did you mean ${near}?`,
  });
}
