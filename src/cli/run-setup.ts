import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BerthError } from '../errors.ts';
import { type FileChange, fileChange, placeFile } from '../init/file-change.ts';
import { takeInitLock } from '../init/init-lock.ts';
import { type CommandStep, isFileStep, type Setup } from '../init/setup.ts';
import { shellWords } from '../shell-words.ts';
import { assertRoot } from '../system/as-user.ts';
import { runProgram } from '../system/run-program.ts';
import type { Asker } from './questions.ts';
import { patchText } from './patch-text.ts';
import { escapedForTerminal, type Terminal } from './terminal.ts';

interface RunOptions {
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly asker: Asker;
}

/**
 * Shows what `berth init` would do, asks, does it, and has `berth doctor` check the result.
 *
 * @throws {BerthError} `not-root`, `init-cancelled`, `init-running`, `init-step-failed`, and those of `fileChange` and
 *   `placeFile`
 */
export async function runSetup(
  setup: Setup,
  { dryRun, yes, asker }: RunOptions,
  terminal: Terminal,
): Promise<void> {
  if (!dryRun) assertRoot();
  const open = await openSteps(setup, terminal);
  terminal.stdout.write(open.map(stepText).join(''));
  const doing = open.filter((step) => !isUnchanged(step));
  if (doing.length === 0) terminal.stdout.write('nothing to change\n');
  if (dryRun) return;

  const wanted: OpenStep[] = [];
  for (const step of doing)
    if (!isEdited(step) || (await asker.confirm(`Replace ${step.path}? It is kept beside`)))
      wanted.push(step);
    else terminal.stdout.write(`${step.path}: left as it is\n`);
  if (wanted.length > 0 && !yes && !(await asker.confirm('Write and run this?')))
    throw new BerthError('nothing was written', {
      code: 'init-cancelled',
      hint: 'Run the command again, or answer with options: see its --help.',
    });
  const back = wanted.length === 0 ? [] : await carryOutAll(wanted, terminal);
  await report(setup, back, terminal);
}

/** @returns lines that undo it */
async function carryOutAll(steps: readonly OpenStep[], terminal: Terminal): Promise<string[]> {
  const lock = await takeInitLock();
  try {
    const back: string[] = [];
    for (const step of steps) back.push(...(await carryOut(step, terminal)));
    return back;
  } finally {
    await lock?.release();
  }
}

type OpenStep = FileChange | CommandStep;

function isChange(step: OpenStep): step is FileChange {
  return 'change' in step;
}

function isUnchanged(step: OpenStep): boolean {
  return isChange(step) && step.change === 'unchanged';
}

function isEdited(step: OpenStep): step is FileChange {
  return isChange(step) && step.change === 'edited';
}

/** The steps without commands that have nothing to do. */
async function openSteps({ steps }: Setup, terminal: Terminal): Promise<OpenStep[]> {
  const open: OpenStep[] = [];
  for (const step of steps)
    if (isFileStep(step)) open.push(await fileChange(step));
    else if (step.unless === undefined || !(await succeeds(step.unless, terminal))) open.push(step);
  return open;
}

function stepText(step: OpenStep): string {
  if (!isChange(step)) return `run: ${escapedForTerminal(shellWords(step.argv))}\n\n`;
  const { path, change, before, text, writtenBy, secret } = step;
  if (change === 'unchanged') return `${path}: unchanged\n\n`;
  const by = writtenBy === undefined ? '' : `, by \`${shellWords(['berth', ...writtenBy])}\``;
  const head = {
    new: `${path}: new${by}`,
    changed: `${path}: changed`,
    edited: `${path}: differs from what Berth would write, and somebody may have edited it`,
  }[change];
  // Without lines around the differences, the secrets that stay are not shown.
  const patch = patchText(
    path,
    { before: before ?? '', after: text },
    'now',
    secret === true ? 0 : 2,
  );
  return `${head}\n${patch}\n`;
}

/** @returns lines that undo it */
async function carryOut(step: OpenStep, terminal: Terminal): Promise<string[]> {
  if (!isChange(step)) {
    await run(step.argv, terminal);
    return [];
  }
  if (step.writtenBy !== undefined) {
    await run(['berth', ...step.writtenBy], terminal);
    return [];
  }
  const kept = await placeFile(step, new Date(terminal.now()));
  terminal.stdout.write(
    `${step.path}: written${kept === undefined ? '' : `; ${kept} is the former file`}\n`,
  );
  return kept === undefined ? [] : [`go back: cp -p ${kept} ${step.path}`];
}

function programOf([name = '', ...args]: readonly string[], terminal: Terminal) {
  const env = {
    ...terminal.env,
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  };
  return { file: name === 'berth' ? terminal.program : name, args, env };
}

async function succeeds(argv: readonly string[], terminal: Terminal): Promise<boolean> {
  const { file, args, env } = programOf(argv, terminal);
  return (await runProgram(file, args, { env, maxBuffer: 2 ** 28 })).error === undefined;
}

/** Runs a command with this one's output. @throws {BerthError} `init-step-failed` */
async function run(argv: readonly string[], terminal: Terminal): Promise<void> {
  const line = shellWords(argv);
  terminal.stdout.write(`$ ${line}\n`);
  const status = await statusOf(argv, terminal);
  if (status === 0) return;
  throw new BerthError(`\`${line}\` ended with ${status}`, {
    code: 'init-step-failed',
    hint: 'Correct what it says, then run the same `berth init` again: what is done stays, and is not done twice.',
  });
}

/** @returns the exit status, or why there is none */
async function statusOf(argv: readonly string[], terminal: Terminal): Promise<number | string> {
  const { file, args, env } = programOf(argv, terminal);
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', (text: string) => terminal.stdout.write(text));
  try {
    const [status, signal] = (await once(child, 'close')) as [number | null, string | null];
    return status ?? signal ?? 'no status';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function report(
  { doctor, next }: Setup,
  back: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const argv = ['berth', 'doctor', ...doctor];
  terminal.stdout.write(`\n$ ${shellWords(argv)}\n`);
  if ((await statusOf(argv, terminal)) !== 0) terminal.finish(1);
  terminal.stdout.write(`\n${[...next, ...back].map((line) => `next: ${line}\n`).join('')}`);
}
