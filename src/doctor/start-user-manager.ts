import { setTimeout as sleep } from 'node:timers/promises';
import type { User } from '../identity/user.ts';
import { findRuntimeDir, systemdRuntimeDir } from '../ssh/connections/runtime-dir.ts';
import { runProgram } from '../system/run-program.ts';
import { hasSystemd } from '../system/systemd-units.ts';

/** How long systemd may take to start the service manager of a user. Milliseconds. */
const startMs = 15_000;

/**
 * Starts what pam_systemd starts at a login: the user's runtime directory and service manager. In another directory, podman
 * would refuse the storage of the user's earlier sessions.
 *
 * @returns what stops it, a few seconds later and only if the user has not logged in; undefined if it runs already, or if
 *   this host has no systemd-logind
 */
export async function startUserManager(
  user: User,
): Promise<{ readonly stop: () => Promise<void> } | undefined> {
  if (!hasSystemd() || findRuntimeDir(user) !== undefined) return undefined;
  if (!(await loginctl('enable-linger', user))) return undefined;
  const stop = async (): Promise<void> => {
    await loginctl('disable-linger', user);
  };
  const deadline = performance.now() + startMs;
  while (findRuntimeDir(user) !== systemdRuntimeDir(user) && performance.now() < deadline)
    await sleep(50);
  return { stop };
}

async function loginctl(verb: string, { name }: User): Promise<boolean> {
  const options = { env: { PATH: '/usr/bin:/bin' }, timeout: startMs };
  return (await runProgram('loginctl', [verb, name], options)).error === undefined;
}
