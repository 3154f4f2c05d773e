import { existsSync } from 'node:fs';
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
  const options = { env: { PATH: '/usr/bin:/bin' }, timeout: startMs };
  return (await runProgram('loginctl', [verb, name], options)).error === undefined;
}
