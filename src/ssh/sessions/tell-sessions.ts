import { escapeControl } from '../../log.ts';
import type { Session } from './session.ts';
import { writeToTerminal } from './session-terminal.ts';

/** The longest message, in characters, so that it fits into the buffer of a terminal that nobody reads. */
const longestMessage = 400;

/**
 * Writes a line to each terminal of these sessions.
 *
 * @param text one line; control characters are escaped
 * @returns how many terminals showed it; a stopped terminal (Ctrl-S) does not
 */
export function tellSessions(
  sessions: readonly Pick<Session, 'uid' | 'terminals'>[],
  text: string,
): number {
  // BEL, and a line of its own: the user may be in the middle of one. `\r`, because the terminal may be in raw mode.
  const line = `\r\n\u0007*** ${escapeControl(text.slice(0, longestMessage))} ***\r\n`;
  return sessions
    .flatMap(({ uid, terminals }) => terminals.map((path) => writeToTerminal(path, uid, line)))
    .filter((shown) => shown).length;
}
