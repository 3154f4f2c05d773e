import { BerthError } from '../../errors.ts';
import type { SessionContainer } from './argv/exec-argv.ts';
import type { SessionHost } from '../request/session-host.ts';
import { startOf } from '../../system/process-start.ts';
import { readUserFileSync } from '../../system/user-file.ts';
import { pausePid } from '../connections/pause-file.ts';

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

/** Bytes; most of it is the environment that an image may have. */
const longestNote = 256 * 1024;

/** The container of this name, if it runs and can be joined: three small files are read. */
export function warmContainer(
  host: Pick<SessionHost, 'runFolder' | 'user'>,
  name: string,
): (ContainerNote & SessionContainer) | undefined {
  try {
    const demands = { uid: host.user.uid, maximumBytes: longestNote };
    const text = readUserFileSync(noteFile(host.runFolder, name), demands);
    if (text === undefined) return undefined;
    const note = { ...formerNotes, ...(JSON.parse(text.toString('utf8')) as ContainerNote) };
    if (!isRunning(note)) return undefined;
    const pause = pausePid(host);
    if (pause === undefined || startOf(pause) === undefined) return undefined;
    return { ...note, pausePid: pause };
  } catch (error) {
    // Half a note, or none of ours: the container is started anew.
    if (error instanceof BerthError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isRunning({ pid, start }: Partial<ContainerNote>): boolean {
  return typeof pid === 'number' && start !== '' && startOf(pid) === start;
}
