import { setTimeout as sleep } from 'node:timers/promises';
import { ensurePackages } from '../rig/site/packages.ts';
import { Skip, type Case } from './case.ts';
import type { Client } from './client.ts';
import { commands } from './commands.ts';
import { desktop } from './desktop.ts';
import { forwards } from './forwards.ts';
import { otherClients } from './other-clients.ts';
import { programs } from './programs.ts';
import { transfer } from './transfer.ts';
import { exits } from './exits.ts';
import { interactive } from './interactive.ts';
import { loginShell } from './login-shell.ts';
import { multiplexing } from './multiplexing.ts';

/** All cases, by topic. */
export const suite: Readonly<Record<string, readonly Case[]>> = {
  'single commands': commands,
  'exit codes and signals': exits,
  'interactive shells': interactive,
  'login shells': loginShell,
  'one connection for many': multiplexing,
  'sftp and scp': transfer,
  'programs over ssh': programs,
  'other clients': otherClients,
  tunnels: forwards,
  'agent, display, editor': desktop,
};

export interface Outcome {
  readonly result: 'pass' | 'fail' | 'skip';
  /** Empty if the case passed. */
  readonly detail: string;
  readonly ms: number;
}

/** Runs one case within its time limit. */
export async function runCase(
  client: Client,
  { run, packages = [], timeoutMs = 90_000 }: Case,
): Promise<Outcome> {
  await ensurePackages(packages);
  const started = performance.now();
  const timer = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`not done within ${timeoutMs / 1000} s`);
  });
  const end = await Promise.race([run(client), late]).then(
    () => ({ result: 'pass' as const, detail: '' }),
    (error: unknown) => ({
      result: error instanceof Skip ? ('skip' as const) : ('fail' as const),
      detail: error instanceof Error ? error.message : String(error),
    }),
  );
  timer.abort();
  late.catch(() => undefined);
  return { ...end, ms: Math.round(performance.now() - started) };
}
