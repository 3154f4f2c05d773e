import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CheckResult,
  failed,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { chooseProfile, type ProfileChoice } from '../../config/schema/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../../config/schema/profile/profile.ts';
import { asBerthError, type BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { findRuntimeDir, systemdRuntimeDir } from '../../sessions/connections/runtime-dir.ts';
import { assertRoot } from '../../system/as-user.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { runProgram } from '../../system/run-program.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { runPamHook, runTestSessionProcess, type TestSession } from './test-session-process.ts';

/**
 * Starts one short session of a user as a login does: PAM's hook at open, the container or pod of the user's profile with `true` in it,
 * and PAM's hook at close, which removes all of it. This process has the part of sshd: if it is killed, the reaper
 * finds a connection without sshd.
 *
 * @param profile default: what the rules give who asks for none
 * @returns the check `session-start`
 */
export async function checkSessionStart(
  session: TestSession,
  settings: SshSettings,
  user: User,
  profile?: string,
): Promise<CheckResult> {
  const id = 'session-start';
  try {
    assertRoot();
    const choice = testChoice(settings, user, profile);
    if (choice.kind !== 'profile' && profile !== undefined)
      return {
        id,
        ...failed(
          `no test session of ${user.name} with ${profile}: ${choice.reason}`,
          'Name a profile of one of the groups of the user, or add the user to one of the groups of this one.',
        ),
      };
    if (choice.kind !== 'profile')
      return {
        id,
        ...skipped(
          `no test session: only rules with \`ports\` match ${user.name}, or none, and a test session has no port`,
        ),
      };
    return { id, ...(await findingOfSession(session, choice.profile, user)) };
  } catch (thrown) {
    return { id, ...failure(asBerthError(thrown, 'starting a session'), user) };
  }
}

/** What a client that asks for the profile gets; else what an sshd that names it gives. */
function testChoice(
  settings: SshSettings,
  { name: user }: User,
  requested: string | undefined,
): ProfileChoice {
  const asked = { user, groups: groupNamesOf(user) };
  const choice = chooseProfile(settings, { ...asked, requested });
  if (choice.kind === 'profile' || requested === undefined) return choice;
  return chooseProfile(settings, { ...asked, wanted: requested });
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

/** How long systemd may take to start the service manager of a user. Milliseconds. */
const startMs = 15_000;

/**
 * Starts what pam_systemd starts at a login: the user's runtime directory and service manager. In another directory, podman
 * would refuse the storage of the user's earlier sessions.
 *
 * @returns what stops it, a few seconds later and only if the user has not logged in; undefined if it runs already, or if
 *   this host has no systemd-logind
 */
async function startUserManager(
  user: User,
): Promise<{ readonly stop: () => Promise<void> } | undefined> {
  if (!hasSystemd() || findRuntimeDir(user) !== undefined) return undefined;
  // It lingers already: an admin wants it so, and it has just not started, or has an unusable directory.
  if (existsSync(`/var/lib/systemd/linger/${user.name}`)) return undefined;
  const removeHandlers = stopOnSignal(() => loginctl('disable-linger', user));
  const stop = async (): Promise<void> => {
    await loginctl('disable-linger', user);
    removeHandlers();
  };
  if (!(await loginctl('enable-linger', user))) {
    removeHandlers();
    return undefined;
  }
  const deadline = performance.now() + startMs;
  while (findRuntimeDir(user) !== systemdRuntimeDir(user) && performance.now() < deadline)
    await sleep(50);
  return { stop };
}

/** Lingering would outlive an admin's ctrl-C. */
function stopOnSignal(stop: () => Promise<unknown>): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (signal: NodeJS.Signals): void => {
    remove();
    void stop().finally(() => process.kill(process.pid, signal));
  };
  const remove = (): void => {
    for (const signal of signals) process.removeListener(signal, onSignal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return remove;
}

async function loginctl(verb: string, { name }: User): Promise<boolean> {
  return (await runProgram('loginctl', [verb, name], { timeoutMs: startMs })).error === undefined;
}
