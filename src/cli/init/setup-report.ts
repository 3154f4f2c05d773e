import { countText } from '../../count-text.ts';
import type { FileChange } from '../../init/file-change.ts';
import { commandText, type CommandStep } from '../../init/setup.ts';
import { escapedForTerminal } from '../../log.ts';
import { shellWords } from '../../shell-words.ts';
import type { SshdLint } from '../../sshd-lint/lint-sshd.ts';
import type { SetupCommand, SetupFile } from '../documents.ts';
import { patchText } from '../kit/patch-text.ts';

/** A step that `berth init` has looked at. */
export type OpenStep = FileChange | CommandStep;

/**
 * What became of a step. `planned`: a dry run, or a step after one that failed; `left`: somebody has edited the file, and it
 * was not replaced.
 */
export interface StepResult {
  readonly result: 'planned' | 'unchanged' | 'left' | 'done' | 'failed';
  /** Where the former file is. */
  readonly kept?: string;
  /** What the linter found in a file of sshd. */
  readonly lint?: SshdLint;
}

export function isChange(step: OpenStep): step is FileChange {
  return 'change' in step;
}

/** A step for the terminal, before it is done. */
export function stepText(step: OpenStep): string {
  if (!isChange(step)) return `run: ${escapedForTerminal(commandText(step))}\n\n`;
  const { path, change, writtenBy } = step;
  if (change === 'unchanged') return `${path}: unchanged\n\n`;
  const by = writtenBy === undefined ? '' : `, by \`${shellWords(['berth', ...writtenBy])}\``;
  const head = {
    new: `${path}: new${by}`,
    changed: `${path}: changed`,
    edited: `${path}: differs from what Berth would write, and somebody may have edited it`,
  }[change];
  const lost = (step.lost ?? []).map((one) => `this would take away ${escapedForTerminal(one)}\n`);
  const patch = change === 'new' ? withoutComments(patchOf(step)) : patchOf(step);
  return `${head}\n${patch}${lost.join('')}\n`;
}

/** The examples of Berth have more comments than settings. */
function withoutComments(patch: string): string {
  const lines = patch.split('\n');
  const shown = lines.filter((line) => !/^\+\s*(?:#.*)?$/.test(line));
  const left = lines.length - shown.length;
  return left === 0 ? patch : `${shown.join('\n')}(and ${countText(left, 'line')} of comments)\n`;
}

/** A step for scripts. */
export function stepFields(step: OpenStep, result: StepResult): SetupFile | SetupCommand {
  if (!isChange(step)) {
    const { argv: command, input } = step;
    return { command, input, ...result };
  }
  const { path, change } = step;
  return {
    ...{ file: path, change },
    ...(change === 'unchanged' ? {} : { patch: patchOf(step) }),
    ...result,
  };
}

function patchOf({ path, before = '', text, secret }: FileChange): string {
  // Without lines around the differences, the secrets that stay are not shown.
  return patchText(path, { before, after: text }, 'now', secret === true ? 0 : 2);
}
