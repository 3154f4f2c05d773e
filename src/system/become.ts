import { accessSync, constants } from 'node:fs';
import { BerthError } from '../errors.ts';
import { escapedParts, holdsRawBytes } from './raw-bytes.ts';

export interface BecomeCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Replaces this process with a program: same PID, terminal, pipes and parent; nothing of Node stays.
 *
 * @param call Absolute path, words (the first is the name it sees itself under), whole environment. A
 *   word may hold raw bytes (src/system/raw-bytes.ts); then the name is the path.
 * @throws {BerthError} `exec-failed`; it does not return.
 */
export function become(call: BecomeCall): never {
  let cause: unknown;
  try {
    // Where execve(2) fails, Node aborts with a dump of its stack: so ask first.
    accessSync(call.file, constants.X_OK);
    const { file, args, env } = call.args.some(holdsRawBytes) ? throughShell(call) : call;
    process.execve?.(file, [...args], { ...env });
  } catch (thrown) {
    cause = thrown;
  }
  throw new BerthError(`${call.file} could not be started`, {
    code: 'exec-failed',
    exit: 'unavailable',
    hint: `Look whether ${call.file} is installed and may be run: ls -l ${call.file}.`,
    cause,
  });
}

/**
 * Node hands on words of UTF-8 only; sh(1) hands on bytes. Its script is made of numbers: what the words
 * hold is never read as a script.
 */
function throughShell({ file, args, env }: BecomeCall): BecomeCall {
  const parameters: string[] = [];
  const add = (parameter: string): string => `"\${${parameters.push(parameter)}}"`;
  const made: string[] = [];
  const words = [file, ...args.slice(1)].map((word, index) => {
    if (!holdsRawBytes(word)) return add(word);
    // The x keeps newlines at the end, which $( ) takes away.
    made.push(`w${index}=$(printf %b ${escapedParts(word).map(add).join(' ')} x)`);
    return `"\${w${index}%x}"`;
  });
  const script = ['LC_ALL=C', ...made, `exec ${words.join(' ')}`].join('\n');
  return { file: '/bin/sh', args: ['sh', '-c', script, 'sh', ...parameters], env };
}
