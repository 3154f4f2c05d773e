import { setTimeout as sleep } from 'node:timers/promises';
import { ensurePackages } from '../rig/site/debian-packages.ts';
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

/** All cases, by subject. */
export const conformanceCases = {
  'single commands': commands,
  'exit codes and signals': exits,
  'interactive shells': interactive,
  'login shells': loginShell,
  'sessions that share a connection': multiplexing,
  'sftp and scp': transfer,
  'programs that run over ssh': programs,
  'other clients': otherClients,
  tunnels: forwards,
  'agent and X11 forwarding, VS Code': desktop,
} as const satisfies Readonly<Record<string, readonly Case[]>>;

export type Subject = keyof typeof conformanceCases;

export interface Outcome {
  readonly result: 'pass' | 'fail' | 'skip';
  /** Why the case failed or was skipped; empty for a pass. */
  readonly detail: string;
  readonly ms: number;
}

/** Installs the case's packages and runs the case within its time limit. */
export async function runCase(
  client: Client,
  { run, packages = [], timeoutMs = 90_000 }: Case,
): Promise<Outcome> {
  await ensurePackages(packages);
  const started = performance.now();
  const timer = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`the case did not finish within ${timeoutMs / 1000} s`);
  });
  const end = await Promise.race([run(client), late]).then(
    () => ({ result: 'pass' as const, detail: '' }),
    (error: unknown) =>
      error instanceof Skip
        ? { result: 'skip' as const, detail: error.message }
        : {
            result: 'fail' as const,
            detail: `${error instanceof Error ? error.message : String(error)}${endOf(client)}`,
          },
  );
  timer.abort();
  late.catch(() => undefined);
  return { ...end, ms: Math.round(performance.now() - started) };
}

/** How the client's last program ended, if it printed an error. */
function endOf({ lastResult }: Client): string {
  if (lastResult === undefined || lastResult.stderr === '') return '';
  const { exitCode, signal, stderr } = lastResult;
  return `; the last client ended with ${exitCode ?? signal ?? 'no exit code'} and printed ${JSON.stringify(stderr.slice(-600))}`;
}
