import { chooseProfile } from '../config/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../config/profile/profile.ts';
import { type CheckResult, failed, type Finding, ok, skipped, warning } from '../check-result.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { assertRoot } from '../system/as-user.ts';
import { groupNamesOf } from '../system/group-names.ts';
import { startUserManager } from './start-user-manager.ts';
import { runPamHook, runTestSessionProcess, type TestSession } from './test-session-process.ts';

/**
 * Starts one short session of a user as a login does: PAM's hook at open, the container or pod of the user's profile with `true` in it,
 * and PAM's hook at close, which removes all of it. This process has the part of sshd: if it is killed, the reaper
 * finds a connection without sshd.
 *
 * @returns the check `session-start`
 */
export async function checkSessionStart(
  session: TestSession,
  settings: SshSettings,
  user: User,
): Promise<CheckResult> {
  const id = 'session-start';
  try {
    assertRoot();
    const choice = chooseProfile(settings, { user: user.name, groups: groupNamesOf(user.name) });
    if (choice.kind !== 'profile')
      return { id, ...skipped(`not tried: no rule without a port gives ${user.name} a profile`) };
    const { profile } = choice;
    return { id, ...(await findingOfSession(session, profile, user)) };
  } catch (thrown) {
    return { id, ...failure(asBerthError(thrown, 'starting a session'), user) };
  }
}

async function findingOfSession(
  session: TestSession,
  profile: Profile,
  user: User,
): Promise<Finding> {
  const manager = await startUserManager(user);
  const started = performance.now();
  let finding: Finding;
  try {
    await runPamHook('open', session, user);
    await runTestSessionProcess(session, profile, user);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    finding = ok(`a test session of ${user.name} with profile ${profile.name} took ${seconds} s`);
  } catch (thrown) {
    finding = failure(asBerthError(thrown, 'starting a session'), user);
  }
  try {
    await runPamHook('close', session, user);
  } catch (thrown) {
    const { message, hint } = asBerthError(thrown, 'closing the session');
    const notRemoved = `it was not removed: ${message}`;
    finding =
      finding.status === 'failed'
        ? failed(`${finding.message}; ${notRemoved}`, finding.next)
        : warning(`the test session of ${user.name} worked, but ${notRemoved}`, hint);
  } finally {
    await manager?.stop();
  }
  return finding;
}

function failure({ message, hint }: BerthError, { name }: User): Finding {
  return failed(`the test session of ${name} failed: ${message}`, hint);
}
