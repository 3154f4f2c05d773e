import { accessSync, constants } from 'node:fs';
import { BerthError } from './errors/berth-error.ts';
import type { ProgramCall } from './program/program-call.ts';
import { passingRawBytes } from './program/raw-bytes.ts';

/**
 * Replaces this process with a program (execve(2)): the PID, terminal, pipes and parent stay the same, and nothing
 * of Node remains.
 *
 * @param call its arguments may be raw strings (src/system/program/raw-bytes.ts); then argv[0] is the path
 * @throws {BerthError} `program-not-started`. Otherwise it does not return.
 */
export function execProcess(call: ProgramCall): never {
  let cause: unknown;
  try {
    // If execve(2) fails, Node aborts and prints its stack, so check first.
    accessSync(call.file, constants.X_OK);
    const { file, args } = passingRawBytes(call);
    process.execve?.(file, [...args], { ...call.env });
  } catch (thrown) {
    cause = thrown;
  }
  throw new BerthError('program-not-started', `cannot run ${call.file}`, { cause });
}
