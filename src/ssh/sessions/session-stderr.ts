import { closeSync, constants, openSync, readlinkSync, writeSync } from 'node:fs';
import { isErrno } from '../../errors/berth-error.ts';
import { descriptorTargets, O_PATH } from '../../system/path-descriptor.ts';
import type { Session } from './list-sessions.ts';
import type { WithoutTerminal } from './session-processes.ts';
import { messageLine, tellSessions } from './session-terminal.ts';

/**
 * Tells sessions that they end now: as `tellSessions`, and those without a terminal on their standard error. As long as a
 * session goes on, nothing is written there, where a program may read.
 *
 * @returns how many terminals and sessions got it
 */
export function tellSessionsTheirEnd(
  sessions: readonly Pick<Session, 'uid' | 'terminals' | 'withoutTerminal'>[],
  text: string,
): number {
  const told = sessions
    .flatMap(({ withoutTerminal }) => withoutTerminal)
    .filter((one) => writeToStderr(one, `${messageLine(text)}\n`));
  return told.length + tellSessions(sessions, text);
}

/**
 * Writes to the standard error of a session. The user can make anything of that descriptor that is theirs to open, such as a
 * file to read only, or one of a file system that never answers. So it counts only if it is a pipe that sshd's process has, too, by what
 * the kernel calls it.
 *
 * @returns whether all of it was written; what a full pipe does not take at once is left out
 */
function writeToStderr({ pid, sshd }: WithoutTerminal, text: string): boolean {
  const open: number[] = [];
  try {
    const found = openSync(`/proc/${pid}/fd/2`, O_PATH);
    open.push(found);
    const name = readlinkSync(`/proc/self/fd/${found}`);
    if (!name.startsWith('pipe:[') || !descriptorTargets(sshd).includes(name)) return false;
    const pipe = openSync(`/proc/self/fd/${found}`, constants.O_WRONLY | constants.O_NONBLOCK);
    open.push(pipe);
    const bytes = Buffer.from(text);
    return writeSync(pipe, bytes) === bytes.length;
  } catch (error) {
    // ENOENT: it has ended. ENXIO: sshd reads it no more. EAGAIN: full.
    if (isErrno(error)) return false;
    throw error;
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}
