import { accessSync, constants } from 'node:fs';
import { BerthError } from '../errors.ts';
import { holdsRawBytes, throughShell } from '../raw-words.ts';

export interface BecomeCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Replaces this process with a program: same PID, terminal, pipes and parent; nothing of Node stays.
 *
 * @param call Absolute path, words (the first is the name it sees itself under), whole environment. A
 *   word may hold raw bytes (src/raw-words.ts); then the name is the path.
 * @throws {BerthError} `program-not-started`; it does not return.
 */
export function become(call: BecomeCall): never {
  let cause: unknown;
  try {
    // Where execve(2) fails, Node aborts with a dump of its stack: so ask first.
    accessSync(call.file, constants.X_OK);
    const { file, args } = call.args.some(holdsRawBytes)
      ? { file: '/bin/sh', args: throughShell([call.file, ...call.args.slice(1)]) }
      : call;
    process.execve?.(file, [...args], { ...call.env });
  } catch (thrown) {
    cause = thrown;
  }
  throw new BerthError(`${call.file} could not be started`, {
    code: 'program-not-started',
    exit: 'unavailable',
    hint: `Look whether ${call.file} is installed and may be run: ls -l ${call.file}.`,
    cause,
  });
}
