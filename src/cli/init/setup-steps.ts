import { once } from 'node:events';
import { countText } from '../../system/text/count-text.ts';
import { BerthError, messageOf } from '../../system/errors/berth-error.ts';
import type { FileChange } from '../../setup/init/file-change.ts';
import { type CommandStep, commandText } from '../../setup/init/setup.ts';
import { escapedForTerminal } from '../../log.ts';
import { shellWords } from '../../system/text/shell-words.ts';
import { runProgram, startProgram } from '../../system/run-program.ts';
import { fileDiff } from '../kit/file-diff.ts';
import type { Terminal, TextStream } from '../kit/terminal.ts';

/** How a program ended: its exit status, or why there is none. */
type ProgramStatus = number | string;

/** Runs a program whose output nobody needs. @returns whether it ended with status 0 */
export async function succeeds(argv: readonly string[], terminal: Terminal): Promise<boolean> {
  const { file, args } = programOf(argv, terminal);
  const env = stepEnvironment(terminal);
  return (await runProgram(file, args, { env, cwd: '.', maxBuffer: 2 ** 28 })).error === undefined;
}

/** Runs a step of `berth init`. @param input a command whose output it reads. @throws {BerthError} `init-step-failed` */
export async function runStep(
  argv: readonly string[],
  output: TextStream,
  terminal: Terminal,
  input?: readonly string[],
): Promise<void> {
  const text = new CollectedText();
  if (input !== undefined) await runStep(input, text, terminal);
  const status = await statusOf(argv, output, terminal, text.text);
  if (status === 0) return;
  throw new BerthError('init-step-failed', `\`${shellWords(argv)}\` ended with ${status}`);
}

/** Runs a program. @param output gets what it prints; its errors are this process's. @param input its standard input */
export async function statusOf(
  argv: readonly string[],
  output: TextStream,
  terminal: Terminal,
  input = '',
): Promise<ProgramStatus> {
  const { file, args } = programOf(argv, terminal);
  const env = stepEnvironment(terminal);
  const child = startProgram(file, args, {
    env,
    cwd: undefined,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => undefined).end(input);
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.write(text));
  try {
    const [status, signal] = (await once(child, 'close')) as [number | null, string | null];
    return status ?? signal ?? 'no status';
  } catch (error) {
    return messageOf(error);
  }
}

function programOf([name = '', ...args]: readonly string[], terminal: Terminal) {
  return { file: name === 'berth' ? terminal.program : name, args };
}

/** The environment of a step: the admin's, which a plugin of kubectl may need, with the system's programs only. */
export function stepEnvironment({ env }: Pick<Terminal, 'env'>): Terminal['env'] {
  return { ...env, PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
}

/** What a command of `berth` prints. */
class CollectedText implements TextStream {
  text = '';

  write(text: string): void {
    this.text += text;
  }
}

/** A step that `berth init` has looked at. */
export type OpenStep = FileChange | CommandStep;

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
    edited: `${path}: differs from what Berth would write, and may have been edited by hand`,
  }[change];
  const lost = (step.lost ?? []).map((one) => `this would remove ${escapedForTerminal(one)}\n`);
  const patch = change === 'new' ? withoutComments(patchOf(step)) : patchOf(step);
  return `${head}\n${patch}${lost.join('')}\n`;
}

/** The examples of Berth have more comments than settings. */
function withoutComments(patch: string): string {
  const lines = patch.split('\n');
  const shown = lines.filter((line) => !/^\+\s*(?:#.*)?$/.test(line));
  const left = lines.length - shown.length;
  return left === 0
    ? patch
    : `${shown.join('\n')}(${countText(left, 'line')} of comments and empty lines not shown)\n`;
}

function patchOf({ path, before = '', text, secret }: FileChange): string {
  // Without lines around the differences, the secrets that stay are not shown.
  return fileDiff(path, { before, after: text }, 'now', secret === true ? 0 : 2);
}
