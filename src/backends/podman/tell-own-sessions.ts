import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { isErrno } from '../../errors/berth-error.ts';
import { isTerminal } from '../../system/controlling-terminal.ts';
import { processArguments } from '../../system/processes.ts';
import type { BerthContainer } from './remove-containers.ts';
import type { BerthProcess } from './user-processes.ts';

/**
 * Tells the sessions in a container that it ends, on their standard error. For the user who runs this process: nothing is
 * looked at that the user could not write to.
 *
 * @param processes all of the user's
 */
export function tellOwnSessions(
  processes: readonly BerthProcess[],
  { id, name }: Pick<BerthContainer, 'id' | 'name'>,
): void {
  for (const { pid, leader, part } of processes)
    if (pid === leader && part === 'client' && processArguments(pid).includes(id))
      writeToStderr(
        pid,
        `login: you ended your container ${name} from another connection: this session ends now. Log in again for a new one.`,
      );
}

function writeToStderr(pid: number, text: string): void {
  let descriptor: number | undefined;
  try {
    const { O_WRONLY, O_NOCTTY, O_NONBLOCK } = constants;
    descriptor = openSync(`/proc/${pid}/fd/2`, O_WRONLY | O_NOCTTY | O_NONBLOCK);
    // The terminal is in raw mode.
    writeSync(descriptor, isTerminal(descriptor) ? `\r\n${text}\r\n` : `${text}\n`);
  } catch (error) {
    // It has ended, or nobody reads what it writes.
    if (!isErrno(error)) throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
