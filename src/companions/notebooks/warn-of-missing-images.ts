import type { Profile } from '../../config/schema/profile/profile.ts';
import type { Terminal } from '../../cli/kit/terminal.ts';

/** Warns of profiles for pods that nodes never pull the image of, which is the default of a profile. */
export function warnOfMissingImages(profiles: readonly Profile[], terminal: Terminal): void {
  const names = profiles.filter(({ pull }) => pull === 'never').map(({ name }) => name);
  if (names.length === 0) return;
  terminal.stderr.write(
    `warning: pull: never in the profile ${names.join(', ')}: its pods start only on nodes that have the image; pull: missing lets nodes pull it\n`,
  );
}
