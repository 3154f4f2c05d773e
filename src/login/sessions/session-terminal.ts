import { constants, fstatSync, lstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { isErrno } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { whileOpen } from '../../system/path-descriptor.ts';
import { ptyNumber } from '../../system/process-usage.ts';

/** `/dev/pts`, where only the kernel makes and removes entries. */
const directory = '/dev/pts';

/** A terminal of the host. */
interface SessionTerminal {
  readonly path: string;
  /** When something was last typed there, as `w` shows it. Milliseconds since the epoch. */
  readonly lastInput: number;
}

/**
 * Looks at /dev/pts/N.
 *
 * A user can have a terminal of the same number in another instance of devpts, made in a user namespace. The one here
 * is then another user's, so its owner is compared.
 *
 * @param uid who must own it
 * @returns undefined if there is none, or another user owns it
 */
export function lookAtTerminal(number: number, uid: number): SessionTerminal | undefined {
  const path = `${directory}/${number}`;
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined || !isTerminalOf(status, number, uid)) return undefined;
  return { path, lastInput: status.atimeMs };
}

/**
 * Writes to a user's terminal, as wall(1) does. A terminal that is stopped (Ctrl-S), or whose buffer nobody
 * reads, does not delay it: what cannot be written at once is left out.
 *
 * @param text without control characters except CR and LF
 * @returns whether all of it was written
 */
function writeToTerminal(path: string, uid: number, text: string): boolean {
  const number = terminalNumber(path);
  if (number === undefined) return false;
  // Opening it never waits, follows nothing, and does not make it this process's controlling terminal.
  const { O_WRONLY, O_NOFOLLOW, O_NOCTTY, O_NONBLOCK } = constants;
  const bytes = Buffer.from(text);
  try {
    return whileOpen(
      openSync(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK),
      (descriptor) =>
        isTerminalOf(fstatSync(descriptor), number, uid) &&
        writeSync(descriptor, bytes) === bytes.length,
    );
  } catch (error) {
    // EAGAIN: stopped or full. EIO: hung up. ENOENT: closed meanwhile.
    if (isErrno(error)) return false;
    throw error;
  }
}

/** The number of `/dev/pts/N`. */
function terminalNumber(path: string): number | undefined {
  const digits = /^\/dev\/pts\/([0-9]{1,7})$/.exec(path)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function isTerminalOf(status: Stats, number: number, uid: number): boolean {
  return status.isCharacterDevice() && status.uid === uid && ptyNumber(status.rdev) === number;
}

/** The longest message, in characters, so that it fits into the buffer of a terminal that nobody reads. */
const longestMessage = 400;

/** As it is shown, without the end of the line. @param text one line; control characters are escaped */
export function messageLine(text: string): string {
  return `*** ${escapeControl(text.slice(0, longestMessage))} ***`;
}

/**
 * Writes a line to each terminal of these sessions.
 *
 * @param text one line; control characters are escaped
 * @returns how many terminals showed it; a stopped terminal (Ctrl-S) does not
 */
export function tellSessions(
  sessions: readonly { readonly uid: number; readonly terminals: readonly string[] }[],
  text: string,
): number {
  // BEL, and a line of its own: the user may be in the middle of one. `\r`, because the terminal may be in raw mode.
  const line = `\r\n\u0007${messageLine(text)}\r\n`;
  return sessions
    .flatMap(({ uid, terminals }) => terminals.map((path) => writeToTerminal(path, uid, line)))
    .filter((shown) => shown).length;
}
