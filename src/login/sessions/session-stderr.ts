import { descriptorTargets } from '../../system/path-descriptor.ts';
import { writeToStderr } from '../../system/process-stderr.ts';
import type { Session } from './list-sessions.ts';
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
    .filter(({ pid, sshd }) => writeToStderr(pid, messageLine(text), isPipeOf(sshd)));
  return told.length + tellSessions(sessions, text);
}

/**
 * The user can make anything of a session's standard error that is theirs to open, such as a file to read only, or one of a
 * file system that never answers. So it counts only if it is a pipe that sshd's process has, too, by what the kernel calls it.
 */
function isPipeOf(sshd: number): (name: string) => boolean {
  return (name) => name.startsWith('pipe:[') && descriptorTargets(sshd).includes(name);
}
