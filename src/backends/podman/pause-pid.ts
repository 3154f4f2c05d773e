import { unlink } from 'node:fs/promises';
import { BerthError, isErrno } from '../../errors/berth-error.ts';
import { pausePidFile } from './argv/podman-argv.ts';
import type { SessionHost } from '../../session/session-host.ts';
import { readUserFile, readUserFileSync, type FileRequirements } from '../../system/user-file.ts';

type Host = Pick<SessionHost, 'runtimeDir' | 'user'>;

/** PID of the process that holds the user's user namespace open, if podman has recorded one. */
export function pausePid(host: Host): number | undefined {
  try {
    return pidIn(readUserFileSync(pausePidFile(host), demandsOf(host)));
  } catch (error) {
    if (error instanceof BerthError) return undefined;
    throw error;
  }
}

/**
 * Like `pausePid`, before podman is run and with the user's rights. Removes a file that podman cannot have
 * written: podman would block on a FIFO and read /dev/zero forever.
 */
export async function validatedPausePid(host: Host): Promise<number | undefined> {
  try {
    return pidIn(await readUserFile(pausePidFile(host), demandsOf(host)));
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    await removePauseFile(host);
    return undefined;
  }
}

/** Runs with the user's rights. Leaves a directory there: podman rejects it at once. */
export async function removePauseFile(host: Pick<SessionHost, 'runtimeDir'>): Promise<void> {
  try {
    await unlink(pausePidFile(host));
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}

function demandsOf({ user }: Host): FileRequirements {
  return { uid: user.uid, maximumBytes: 32 };
}

function pidIn(text: Buffer | undefined): number | undefined {
  const pid = Number(text?.toString('latin1').trim());
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}
