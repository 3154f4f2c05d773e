import { BerthError, isErrno } from '../../../system/errors/berth-error.ts';
import { notesDirectory } from '../../connections/runtime-dir.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { processStartTime } from '../../../system/process-start.ts';
import { ifUsable, readOnMount, unlinkOnMount } from '../../../system/user-file.ts';
import { temporaryNames } from './argv/podman-argv.ts';
import type { SessionContainer } from './argv/session-command.ts';

/** Data of a running container, in a file of the user's runtime directory. */
export interface ContainerFile extends Omit<SessionContainer, 'pausePid'> {
  /** The start time of its first process. */
  readonly start: string;
}

/** Directory of locks and container files. It belongs to the user and is empty after a reboot, as containers are gone. */
export function containerFilesDir(runtimeDir: string): string {
  return `${runtimeDir}/${notesDirectory}`;
}

export function containerFilePath(runtimeDir: string, name: string): string {
  return `${containerFilesDir(runtimeDir)}/${name}.json`;
}

/** Bytes; most of them are the environment of the image. */
const longestNote = 256 * 1024;

/** The container of this name, if it is running and can be joined. Reads three small files. */
export function runningContainer(
  host: Pick<SessionHost, 'runtimeDir' | 'user'>,
  name: string,
): (ContainerFile & SessionContainer) | undefined {
  try {
    const demands = { uid: host.user.uid, maximumBytes: longestNote };
    const text = readOnMount(host.runtimeDir, [notesDirectory, `${name}.json`], demands);
    if (text === undefined) return undefined;
    const note = JSON.parse(text.toString('utf8')) as ContainerFile;
    if (!isRunning(note)) return undefined;
    const pause = pausePid(host);
    if (pause === undefined || processStartTime(pause) === undefined) return undefined;
    return { ...note, pausePid: pause };
  } catch (error) {
    // Truncated, or not written by Berth: the container is started again.
    if (error instanceof BerthError || error instanceof SyntaxError || isErrno(error))
      return undefined;
    throw error;
  }
}

function isRunning({ pid, start }: Partial<ContainerFile>): boolean {
  return typeof pid === 'number' && start !== '' && processStartTime(pid) === start;
}

type Host = Pick<SessionHost, 'runtimeDir' | 'user'>;

/** PID of the process that holds the user's user namespace open, if podman has recorded one. */
export function pausePid(host: Host): number | undefined {
  return ifUsable(() => readPausePid(host));
}

function readPausePid({ runtimeDir, user }: Host): number | undefined {
  const demands = { uid: user.uid, maximumBytes: 32 };
  const text = readOnMount(runtimeDir, [...temporaryNames, 'pause.pid'], demands);
  const pid = Number(text?.toString('latin1').trim());
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}

/**
 * Like `pausePid`, for root or before podman is run. Removes a file that podman cannot have
 * written: podman would block on a FIFO and read /dev/zero forever.
 */
export function validatedPausePid(host: Host): number | undefined {
  try {
    return readPausePid(host);
  } catch (error) {
    if (!(error instanceof BerthError) && !isErrno(error)) throw error;
    removePauseFile(host);
    return undefined;
  }
}

/** Leaves a directory there: podman rejects it at once. */
export function removePauseFile({ runtimeDir }: Pick<SessionHost, 'runtimeDir'>): void {
  unlinkOnMount(runtimeDir, temporaryNames, ['pause.pid']);
}
