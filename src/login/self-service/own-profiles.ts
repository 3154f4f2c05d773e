import {
  chooseProfile,
  offeredProfiles,
  type ProfileRequest,
} from '../../config/schema/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../../config/schema/profile/profile.ts';

/** A profile that the user may use with this connection. */
export interface OwnProfile {
  readonly profile: Profile;
  /** Whether a client gets it that asks for none. */
  readonly isDefault: boolean;
}

/** What the rules of ssh.yml give to a user on this port: the profile of clients that ask for none first. */
export function ownProfiles(settings: SshSettings, asked: ProfileRequest): readonly OwnProfile[] {
  const choice = chooseProfile(settings, { ...asked, requested: undefined });
  const usual = choice.kind === 'profile' ? choice.profile.name : undefined;
  return offeredProfiles(settings, asked)
    .map((profile) => ({ profile, isDefault: profile.name === usual }))
    .toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
}
