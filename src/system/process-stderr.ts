import { constants, openSync, readlinkSync, writeSync } from 'node:fs';
import { expectErrno } from './errors/berth-error.ts';
import { isTerminal } from './controlling-terminal.ts';
import { O_PATH, whileOpen } from './path-descriptor.ts';

/**
 * Writes a line to the standard error of a process, without waiting.
 *
 * @param isWanted by what the kernel calls the file: no other is opened for writing
 * @returns whether all of it was written; what a full pipe does not take at once is left out
 */
export function writeToStderr(
  pid: number,
  line: string,
  isWanted: (name: string) => boolean,
): boolean {
  const { O_WRONLY, O_NOCTTY, O_NONBLOCK } = constants;
  try {
    return whileOpen(openSync(`/proc/${pid}/fd/2`, O_PATH), (found) => {
      const path = `/proc/self/fd/${found}`;
      if (!isWanted(readlinkSync(path))) return false;
      return whileOpen(openSync(path, O_WRONLY | O_NOCTTY | O_NONBLOCK), (stderr) => {
        // The terminal is in raw mode.
        const bytes = Buffer.from(isTerminal(stderr) ? `\r\n${line}\r\n` : `${line}\n`);
        return writeSync(stderr, bytes) === bytes.length;
      });
    });
  } catch (error) {
    // ENOENT: it has ended. ENXIO: nobody reads it any more. EAGAIN: full.
    expectErrno(error);
    return false;
  }
}
