import { readFileSync } from 'node:fs';
import { isErrno } from '../errors.ts';
import { pauseFile } from '../session/podman-call.ts';
import type { SessionContainer } from '../session/session-call.ts';
import { startOf } from '../system/process-start.ts';

/** What is known of a container since it was started, in the user's run folder. */
export interface ContainerNote extends Omit<SessionContainer, 'pausePid'> {
  /** Host's PID of its first process, and when that was started (`startOf`). */
  readonly pid: number;
  readonly start: string;
}

/** What a note does not say that another version of Berth wrote: its container goes on being joined. */
const formerNotes = { bundledFiles: false, cwd: '/', terminalBy: 'podman' } as const;

/** Folder of locks and notes: the user's own, gone after a reboot as the containers are. */
export function noteFolder(runFolder: string): string {
  return `${runFolder}/berth`;
}

export function noteFile(runFolder: string, name: string): string {
  return `${noteFolder(runFolder)}/${name}.json`;
}

/** The container of this name, if it runs and can be joined: three small files are read. */
export function warmContainer(
  runFolder: string,
  name: string,
): (ContainerNote & SessionContainer) | undefined {
  try {
    const text = readFileSync(noteFile(runFolder, name), 'utf8');
    const note = { ...formerNotes, ...(JSON.parse(text) as ContainerNote) };
    if (note.start === '' || startOf(note.pid) !== note.start) return undefined;
    const pause = pausePid(runFolder);
    return startOf(pause) === undefined ? undefined : { ...note, pausePid: pause };
  } catch (error) {
    // No note, or half of one: it is started anew.
    if (isErrno(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The process that keeps the user's user namespace open, as podman notes it. */
export function pausePid(runFolder: string): number {
  return Number(readFileSync(pauseFile({ runFolder }), 'latin1'));
}
