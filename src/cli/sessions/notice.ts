import type { SshSettings } from '../../config/schema/profile/profile.ts';
import type { Session } from '../../ssh/sessions/list-sessions.ts';

/**
 * Writes a line to the terminals of these sessions whose profile does not say `notices: false`.
 *
 * @returns how many terminals showed it
 */
export async function tellBySettings(
  sessions: readonly Session[],
  text: string,
  settings: SshSettings,
): Promise<number> {
  const { tellSessions } = await import('../../ssh/sessions/session-terminal.ts');
  const { withConfiguredProfiles } = await import('../../ssh/sessions/configured-profile.ts');
  const known = await withConfiguredProfiles(sessions, settings);
  return tellSessions(
    known.filter((one) => wantsNotices(one, settings)),
    text,
  );
}

/** Without a known profile, such as for a shell on the host, people are told. */
function wantsNotices({ profile }: Session, { profiles }: Pick<SshSettings, 'profiles'>): boolean {
  return profile === undefined || profiles.get(profile)?.notices !== false;
}
