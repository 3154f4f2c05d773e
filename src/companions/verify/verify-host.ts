import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { Case, ServerTrait } from './case.ts';
import { Client, type Target } from './client.ts';
import { conformanceCases, knownFailures, runCase, type Outcome } from './suite.ts';

/** A case that was chosen, and what came of it. */
export interface VerifiedCase extends Omit<Outcome, 'result'> {
  readonly subject: string;
  readonly name: string;
  /** `known`: not run, because it is known to fail on such a server. */
  readonly result: Outcome['result'] | 'known';
  /** Why it failed, is known to fail or was skipped; empty for a pass. */
  readonly detail: string;
}

export interface ChosenCase {
  readonly subject: string;
  readonly each: Case;
}

/**
 * The cases whose subject and name, as `SUBJECT: NAME`, contain one of the texts; without texts all. Case does not matter.
 *
 * @throws {BerthError} `usage` for a text that no case contains
 */
export function chosenCases(only: readonly string[]): readonly ChosenCase[] {
  const all = Object.entries(conformanceCases).flatMap(([subject, cases]) =>
    cases.map((each: Case) => ({ subject, each })),
  );
  const contains = ({ subject, each }: ChosenCase, text: string): boolean =>
    `${subject}: ${each.name}`.toLowerCase().includes(text.toLowerCase());
  for (const text of only)
    if (!all.some((chosen) => contains(chosen, text)))
      throw new BerthError('usage', `--only ${text}: no case has this in its subject or name`, {
        hint: `Subjects: ${Object.keys(conformanceCases).join('; ')}.`,
      });
  return all.filter((chosen) => only.length === 0 || only.some((text) => contains(chosen, text)));
}

export interface Verification {
  readonly target: Target;
  readonly cases: readonly ChosenCase[];
  /** What the server has: the failures that are known of it are not run. */
  readonly traits: readonly ServerTrait[];
  /** Aborted: the case that runs, whose clients get the same signal, ends; the others are skipped. */
  readonly interrupted: AbortSignal;
  /** Called before each case. */
  readonly onCase: (chosen: ChosenCase, number: number) => void;
}

/**
 * Runs the cases one after the other, and removes what they made.
 *
 * @returns the results, and `verify-not-cleaned-up` if something stays
 * @throws {BerthError} `verify-login-failed`
 */
export async function verifyHost({
  target,
  cases,
  traits,
  interrupted,
  onCase,
}: Verification): Promise<{
  readonly results: readonly VerifiedCase[];
  readonly left: BerthError | undefined;
}> {
  const client = await loggedIn(target);
  const known = knownFailures(traits);
  const results: VerifiedCase[] = [];
  for (const [index, chosen] of cases.entries()) {
    const { subject, each } = chosen;
    onCase(chosen, index + 1);
    const interruption = { result: 'skip', detail: 'interrupted', milliseconds: 0 } as const;
    let outcome: Omit<VerifiedCase, 'subject' | 'name'> = interruption;
    if (!interrupted.aborted) outcome = await outcomeOf(chosen, client, known);
    // Its clients may have ended with the signal.
    if (interrupted.aborted && outcome.result === 'fail') outcome = interruption;
    results.push({ subject, name: each.name, ...outcome });
  }
  return { results, left: await cleanUp(client) };
}

async function outcomeOf(
  { subject, each }: ChosenCase,
  client: Client,
  known: Readonly<Record<string, string>>,
): Promise<Omit<VerifiedCase, 'subject' | 'name'>> {
  const { profile } = client.target;
  if (profile !== undefined && subject === 'other clients')
    return { result: 'skip', detail: `does not ask for ${profile}`, milliseconds: 0 };
  const untried = await reasonNotToRun(each, known, client.target.path);
  return untried ? { ...untried, milliseconds: 0 } : runCase(client, each);
}

/** Of OpenSSH, which all cases need; script(1) gives terminals. */
const needed = [
  'ssh',
  'scp',
  'sftp',
  'ssh-keygen',
  'ssh-keyscan',
  'ssh-agent',
  'ssh-add',
  'ssh-copy-id',
  'script',
];

async function loggedIn(target: Target): Promise<Client> {
  const failed = (message: string, hint?: string): BerthError =>
    new BerthError('verify-login-failed', message, { hint });
  const missing = await missingPrograms(needed, target.path);
  if (missing.length > 0)
    throw failed(
      `this machine lacks ${missing.join(', ')}`,
      'Install the clients of OpenSSH, and script(1) of util-linux.',
    );
  try {
    return await Client.connect(target);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw failed(`${target.user} cannot log in to ${target.host}, port ${target.port}: ${why}`);
  }
}

async function cleanUp(client: Client): Promise<BerthError | undefined> {
  try {
    await client.cleanUp();
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return new BerthError('verify-not-cleaned-up', message, { cause: error });
  }
}

async function reasonNotToRun(
  { name, programs = {} }: Case,
  known: Readonly<Record<string, string>>,
  path: string,
): Promise<Pick<VerifiedCase, 'result' | 'detail'> | undefined> {
  const reason = known[name];
  if (reason !== undefined) return { result: 'known', detail: reason };
  const missing = await missingPrograms(Object.keys(programs), path);
  if (missing.length === 0) return undefined;
  const packages = [...new Set(missing.map((program) => programs[program]))].join(' ');
  const detail = `this machine lacks ${missing.join(' ')} (on Debian: apt install ${packages})`;
  return { result: 'skip', detail };
}

/** @param path PATH; a name with a slash is a path itself */
async function missingPrograms(names: readonly string[], path: string): Promise<readonly string[]> {
  const missing = await Promise.all(
    names.map(async (name) => {
      const files = name.includes('/') ? [name] : path.split(':').map((each) => join(each, name));
      const found = files.map((file) => access(file, constants.X_OK));
      return Promise.any(found).then(
        () => [],
        () => [name],
      );
    }),
  );
  return missing.flat();
}
