import { existsSync } from 'node:fs';
import { BerthError } from '../../system/errors/berth-error.ts';
import { type FileChange, fileChange, placeFile } from '../../setup/init/file-change.ts';
import {
  commandText,
  isFileStep,
  type Setup,
  type SetupStep,
  takeInitLock,
} from '../../setup/init/setup.ts';
import { shellWords } from '../../system/text/shell-words.ts';
import type { Asker, FlowArguments } from '../kit/questions.ts';
import type { Terminal, TextStream } from '../kit/terminal.ts';
import { isChange, type OpenStep, runStep, statusOf, stepText, succeeds } from './setup-steps.ts';

/**
 * Shows what `berth init` would do, asks, does it, and has `berth doctor` check the result.
 *
 * @throws {BerthError} `init-cancelled`, `init-running`, `init-step-failed`, and those of `fileChange` and
 *   `placeFile`
 */
export async function runSetup(
  setup: Setup,
  { 'dry-run': dryRun, yes }: FlowArguments,
  asker: Asker,
  terminal: Terminal,
): Promise<void> {
  const run = new SetupRun(setup, terminal);
  await run.look();
  if (dryRun) return;
  await run.choose(asker, yes);
  try {
    await run.carryOut();
    await run.check();
  } catch (error) {
    run.sayHowToUndo();
    throw error;
  }
}

/**
 * What became of a step. `planned`: a dry run, or a step after one that failed; `left`: somebody has edited the file, and it
 * was not replaced.
 */
interface StepResult {
  readonly result: 'planned' | 'unchanged' | 'left' | 'done' | 'failed';
  /** Where the former file is. */
  readonly kept?: string;
}

/** A run of `berth init` from the first look to the last line. */
class SetupRun {
  readonly #setup: Setup;
  readonly #terminal: Terminal;
  readonly #text: TextStream;
  readonly #results = new Map<OpenStep, StepResult>();
  /** Those that wait for doctor. */
  readonly #last = new Set<OpenStep>();
  #isSound = true;
  #nextByLook: readonly string[] = [];

  constructor(setup: Setup, terminal: Terminal) {
    this.#setup = setup;
    this.#terminal = terminal;
    this.#text = terminal.stdout;
  }

  /** Compares the steps with the host. Commands that have nothing to do are left out. */
  async look(): Promise<void> {
    const { steps, last = [] } = this.#setup;
    for (const [index, step] of [...steps, ...last].entries()) {
      const seen = await this.#lookAt(step);
      if (seen !== undefined && index >= steps.length) this.#last.add(seen);
    }
    this.#text.write([...this.#results.keys()].map(stepText).join(''));
    if (this.#planned.length === 0) this.#text.write('nothing to change\n');
  }

  /** @returns the step that is to be done or was done; undefined if a command has nothing to do */
  async #lookAt(step: SetupStep): Promise<OpenStep | undefined> {
    if (!isFileStep(step)) {
      if (step.unless !== undefined && (await succeeds(step.unless, this.#terminal))) return;
      this.#results.set(step, { result: 'planned' });
      return step;
    }
    const change = await fileChange(step);
    const result = change.change === 'unchanged' ? 'unchanged' : 'planned';
    this.#results.set(change, { result });
    return change;
  }

  async choose(asker: Asker, yes: boolean): Promise<void> {
    for (const step of this.#planned) {
      if (!isChange(step)) continue;
      const lost = (step.lost ?? []).join(', ');
      if (step.change !== 'edited' && lost === '') continue;
      const loss = lost === '' ? '' : ` It removes ${lost}.`;
      if (await asker.confirm(`Replace ${step.path}?${loss} A backup of the current file is kept`))
        continue;
      if (lost !== '' && !asker.asks) throw siteOwn(step, lost);
      // Nobody can be asked whether it may be replaced.
      if (step.askedBy !== undefined && !asker.asks)
        throw new BerthError(
          'init-cancelled',
          `${step.path} was edited by hand, and has another value than ${step.askedBy}; nothing was written`,
          {
            hint: 'Change the value in the file, or run the command without --yes on a terminal: it asks before it replaces the file.',
          },
        );
      this.#results.set(step, { result: 'left' });
      this.#text.write(`${step.path}: left as it is\n`);
    }
    if (this.#planned.length > 0 && !yes && !(await asker.confirm('Apply these changes?')))
      throw new BerthError('init-cancelled', 'nothing was written');
  }

  carryOut(): Promise<void> {
    return this.#carryOut(this.#planned.filter((step) => !this.#last.has(step)));
  }

  async #carryOut(steps: readonly OpenStep[]): Promise<void> {
    if (steps.length === 0) return;
    const lock = await takeInitLock();
    try {
      for (const step of steps) {
        this.#results.set(step, { result: 'failed' });
        this.#results.set(step, { result: 'done', ...(await this.#do(step)) });
      }
    } finally {
      await lock?.release();
    }
  }

  async check(): Promise<void> {
    const argv = ['berth', 'doctor', ...this.#setup.doctor];
    this.#text.write(`\n$ ${shellWords(argv)}\n`);
    this.#isSound = (await statusOf(argv, this.#text, this.#terminal)) === 0;
    if (this.#isSound) {
      await this.#carryOut(this.#planned);
      this.#nextByLook = (await this.#setup.nextByLook?.()) ?? [];
    } else if (this.#setup.unfinished === true)
      this.#text.write('\nFailed checks may pass after the steps that are left:\n');
    else await this.#leaveUnchecked();
    this.#text.write(`\n${this.#next.map((line) => `next: ${line}\n`).join('')}`);
    this.sayHowToUndo();
  }

  /** Nobody gets a login shell, nor access, on a host that does not work. */
  async #leaveUnchecked(): Promise<void> {
    this.#terminal.finish(1);
    for (const [step, { result }] of [...this.#results].reverse()) {
      if (isChange(step) || step.untilChecked !== true || result !== 'done') continue;
      if (step.undo === undefined) continue;
      for (const words of step.undo) {
        this.#text.write(`$ ${shellWords(words)}\n`);
        await runStep(words, this.#text, this.#terminal);
      }
      this.#results.set(step, { result: 'planned' });
    }
    for (const step of this.#planned)
      this.#text.write(`not done: ${isChange(step) ? step.path : commandText(step)}\n`);
    if (this.#planned.length > 0)
      this.#text.write('correct the checks marked ✗, then run the same command again\n');
  }

  /** Also after a step that failed: what was done before it stays. */
  sayHowToUndo(): void {
    for (const [title, commands] of this.#undo)
      if (commands.length > 0)
        this.#text.write(`\n${title}:\n${commands.map((words) => `  ${words}\n`).join('')}`);
  }

  get #planned(): OpenStep[] {
    return [...this.#results]
      .filter(([, { result }]) => result === 'planned')
      .map(([step]) => step);
  }

  /** What the admin does then. */
  get #next(): string[] {
    const { next, nextIfSound = [] } = this.#setup;
    return [...next, ...(this.#isSound ? nextIfSound : []), ...this.#nextByLook];
  }

  /** How each change is undone, the last one first. */
  get #undo(): [title: string, commands: string[]][] {
    const results = [...this.#results].reverse();
    const undo = (isNow: boolean) =>
      results
        .filter(([, { result }]) => (result === 'done') === isNow)
        .flatMap(([step, result]) => undoOf(step, result));
    // Berth's own file that this run has changed, and an earlier one has made.
    const remade = results.flatMap(([step, { result }]) =>
      isChange(step) && step.kind === 'whole' && step.change === 'changed' && result === 'done'
        ? shellWords(['rm', step.path])
        : [],
    );
    const earlier = [...(this.#setup.undo ?? []).map(shellWords), ...remade, ...undo(false)];
    return [
      ['to undo this run', undo(true)],
      ['to undo earlier runs', earlier],
    ];
  }

  async #do(step: OpenStep): Promise<Partial<StepResult>> {
    if (!isChange(step)) {
      // A step before may have done it, too: with its profile, the image may be there.
      if (step.unless !== undefined && (await succeeds(step.unless, this.#terminal)))
        return { result: 'unchanged' };
      this.#text.write(`$ ${commandText(step)}\n`);
      await runStep(step.argv, this.#text, this.#terminal, step.input);
      return {};
    }
    if (step.writtenBy !== undefined) {
      const argv = ['berth', ...step.writtenBy];
      this.#text.write(`$ ${shellWords(argv)}\n`);
      await runStep(argv, this.#text, this.#terminal);
      return {};
    }
    const kept = await placeFile(step, new Date(this.#terminal.now()));
    this.#text.write(`${step.path}: written${kept === undefined ? '' : `; backup: ${kept}`}\n`);
    return kept === undefined ? {} : { kept };
  }
}

/** The commands that undo a step. */
function undoOf(step: OpenStep, { result, kept }: StepResult): string[] {
  if (!isChange(step)) return result === 'done' ? (step.undo ?? []).map(shellWords) : [];
  const { path, copy, change, kind } = step;
  // An earlier run has written the file, or changed that of the host.
  const earlier = change === 'unchanged';
  const former = kept ?? (earlier && copy !== undefined && existsSync(copy) ? copy : undefined);
  if (former !== undefined) return [shellWords(['cp', '-p', former, path])];
  const isOwn = (result === 'done' && change === 'new') || (earlier && kind === 'whole');
  return isOwn ? [shellWords(['rm', path])] : [];
}

/** Nobody can be asked whether a site can do without it. */
function siteOwn({ path, keptBy }: FileChange, lost: string): BerthError {
  const keep = keptBy === undefined ? '' : `, keep it with ${keptBy}`;
  return new BerthError(
    'init-cancelled',
    `${path} has ${lost}, which would be replaced; nothing was written`,
    {
      hint: `Remove it from the file if it is no longer needed${keep}, or run the command without --yes on a terminal: it asks.`,
      fields: { file: path },
    },
  );
}
