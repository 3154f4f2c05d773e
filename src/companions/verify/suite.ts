import { setTimeout as sleep } from 'node:timers/promises';
import type { Case, ServerTrait } from './case.ts';
import { Skip } from './expect.ts';
import { commands } from './cases/commands.ts';
import { desktop } from './cases/desktop.ts';
import { exits } from './cases/exits.ts';
import { forwards } from './cases/forwards.ts';
import { interactive } from './cases/interactive.ts';
import { loginShell } from './cases/login-shell.ts';
import { multiplexing } from './cases/multiplexing.ts';
import { otherClients } from './cases/other-clients.ts';
import { programs } from './cases/programs.ts';
import { transfer } from './cases/transfer.ts';
import type { Client } from './client.ts';

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
  readonly milliseconds: number;
}

/** Why cases are known to fail on a server, by their names. */
export function knownFailures(traits: readonly ServerTrait[]): Readonly<Record<string, string>> {
  const all: readonly Case[] = Object.values(conformanceCases).flat();
  return Object.fromEntries(
    all.flatMap(({ name, known = {} }) => {
      const reason = traits.map((trait) => known[trait]).find((each) => each !== undefined);
      return reason === undefined ? [] : [[name, reason]];
    }),
  );
}

/** Runs the case within its time limit. One that is late has as long again to end and to clean up, before the next one runs. */
export async function runCase(client: Client, { run, timeoutMs = 90_000 }: Case): Promise<Outcome> {
  client.lastResult = undefined;
  const started = performance.now();
  const timer = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`the case did not finish within ${timeoutMs / 1000} s`);
  });
  const running = run(client);
  const end = await Promise.race([running, late]).then(
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
  const ended = running.catch(() => undefined);
  await Promise.race([ended, sleep(timeoutMs, undefined, { ref: false })]);
  return { ...end, milliseconds: Math.round(performance.now() - started) };
}

/** How the client's last program ended, if it printed an error. */
function endOf({ lastResult }: Client): string {
  if (lastResult === undefined || lastResult.stderr === '') return '';
  const { exitCode, signal, stderr } = lastResult;
  return `; the last client ended with ${exitCode ?? signal ?? 'no exit code'} and printed ${JSON.stringify(stderr.slice(-600))}`;
}
