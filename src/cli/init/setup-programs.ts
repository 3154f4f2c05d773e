import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BerthError } from '../../errors/berth-error.ts';
import { shellWords } from '../../shell-words.ts';
import { runProgram } from '../../system/run-program.ts';
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
  throw new BerthError(`\`${shellWords(argv)}\` ended with ${status}`, {
    code: 'init-step-failed',
  });
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
  const child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => undefined).end(input);
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.write(text));
  try {
    const [status, signal] = (await once(child, 'close')) as [number | null, string | null];
    return status ?? signal ?? 'no status';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
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
export class CollectedText implements TextStream {
  text = '';

  write(text: string): void {
    this.text += text;
  }
}
