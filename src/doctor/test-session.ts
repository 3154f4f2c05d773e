import { chooseProfile } from '../config/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../config/profile/profile.ts';
import { type CheckResult, failed, type Finding, ok, skipped, warning } from '../check-result.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import type { Logger } from '../log.ts';
import { pamSession } from '../ssh/pam/pam-session.ts';
import { assertRoot } from '../system/as-user.ts';
import { groupNamesOf } from '../system/group-names.ts';
import { startUserManager } from './start-user-manager.ts';
import { runTestSessionProcess } from './test-session-process.ts';

export interface TestSession {
  /** Path of `berth`. */
  readonly program: string;
  /** Path of ssh.yml. */
  readonly configFile: string;
}

/**
 * Starts one short session of a user as a login does: PAM's hook at open, the container of the user's profile with `true` in it,
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
    if (profile.backend === 'pod')
      return {
        id,
        ...skipped(`not tried: profile ${profile.name} is for pods; log in with ssh to start one`),
      };
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
  const hook = pamHook(session.configFile, user);
  const manager = await startUserManager(user);
  const started = performance.now();
  let finding: Finding;
  try {
    await hook('open');
    await runTestSessionProcess(session, profile, user);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    finding = ok(`a test session of ${user.name} with profile ${profile.name} took ${seconds} s`);
  } catch (thrown) {
    finding = failure(asBerthError(thrown, 'starting a session'), user);
  }
  try {
    await hook('close');
  } catch (thrown) {
    const { message, hint } = asBerthError(thrown, 'closing the session');
    if (finding.status === 'ok')
      finding = warning(`the test session worked, but could not be removed: ${message}`, hint);
  } finally {
    await manager?.stop();
  }
  return finding;
}

/** The hook's `session opened` is not for syslog: nobody logged in. */
function pamHook(configFile: string, user: User): (step: 'open' | 'close') => Promise<void> {
  return async (step) => {
    const errors: BerthError[] = [];
    const status = await pamSession({
      args: [step, '--config', configFile],
      env: { PAM_USER: user.name, PAM_SERVICE: 'sshd', PAM_TTY: 'doctor' },
      caller: process.pid,
      log: errorsOnly(errors),
      now: Date.now,
      onSlow: () => undefined,
    });
    const [error] = errors;
    if (error !== undefined && status !== 0) throw error;
  };
}

function errorsOnly(errors: BerthError[]): Logger {
  const log: Logger = {
    info: () => undefined,
    warning: () => undefined,
    error: (error) => void errors.push(error),
    with: () => log,
  };
  return log;
}

function failure({ message, hint }: BerthError, { name }: User): Finding {
  return failed(`the test session of ${name} failed: ${message}`, hint);
}
