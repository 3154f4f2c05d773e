import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { endProcesses, type SignalSteps } from '../../../system/end-processes.ts';
import { directoryNames, ifReadable } from '../../../system/if-present.ts';
import { mountLines, type ProcessId } from '../../../system/processes.ts';
import { belongs, type BerthProcess, type ProcessOwner, userProcesses } from './user-processes.ts';

type ProcessIds = Pick<ProcessOwner, 'uid' | 'subordinate'>;

/** Where Linux shows FUSE connections (fusectl), each with its user as owner. */
const fuseConnections = '/sys/fs/fuse/connections';

const kill: SignalSteps = [['SIGKILL', 2_000]];

export interface Killed<Found> {
  /** What survived SIGKILL. */
  readonly left: readonly Found[];
  /** Numbers of the FUSE connections for whose answers they wait. */
  readonly fuse: readonly string[];
}

/**
 * Kills processes of one user. One that waits for the answer of a FUSE file system ends only if the connection is aborted
 * (Documentation/filesystems/fuse.rst in Linux); that is done if the user owns the connection and no other process sees a mount of it.
 *
 * @param find as of `endProcesses`
 */
export async function killProcesses<Found extends BerthProcess>(
  owner: ProcessOwner,
  find: () => readonly Found[] | Promise<readonly Found[]>,
): Promise<Killed<Found>> {
  const { left } = await endProcesses(find, kill);
  if (left.length === 0) return { left, fuse: [] };
  const stay = new Set(left.map(({ pid }) => pid));
  const others = userProcesses(owner).filter(({ pid }) => !stay.has(pid));
  const mounts = ({ pid }: ProcessId): readonly string[] => fuseMounts(pid, owner.uid);
  const inUse = new Set(others.flatMap(mounts));
  const theirs = new Set(left.flatMap(mounts));
  // One that is unmounted while a file of it is open is in no list of mounts.
  const waiting = waitedFor(owner);
  const over = waiting.filter((one) => !inUse.has(one));
  const fuse = waiting.filter((one) => inUse.has(one) && theirs.has(one));
  if (over.length === 0) return { left, fuse };
  for (const one of over) abort(one);
  return { left: (await endProcesses(find, kill)).left, fuse };
}

/** Numbers of the connections whose mounts a process sees: the minor number of the mount's device (proc_pid_mountinfo(5)). */
function fuseMounts(pid: number, owner: number): readonly string[] {
  return [...mountLines(pid, owner)].flatMap((line) => {
    const [, number] = /^\d+ \d+ 0:(\d+) .* - fuse(?:\.\S*)? /.exec(line) ?? [];
    return number ?? [];
  });
}

/** The kernel makes the user who mounted it the owner, and nobody can mount for a UID outside of their user namespace. */
function isWaitedFor(connection: string, owner: ProcessIds): boolean {
  const directory = `${fuseConnections}/${connection}`;
  const uid = ifReadable(() => statSync(directory).uid);
  if (uid === undefined || !belongs(uid, owner)) return false;
  return Number(ifReadable(() => readFileSync(`${directory}/waiting`, 'latin1'))) > 0;
}

function waitedFor(owner: ProcessIds): readonly string[] {
  return directoryNames(fuseConnections).filter((one) => isWaitedFor(one, owner));
}

/** Aborts all FUSE connections of a user that somebody waits for. @returns their numbers */
export function abortWaitedFor(owner: ProcessIds): readonly string[] {
  const waiting = waitedFor(owner);
  for (const one of waiting) abort(one);
  return waiting;
}

function abort(connection: string): void {
  ifReadable(() => writeFileSync(`${fuseConnections}/${connection}/abort`, '1'));
}

/** What an admin can do about connections that others still use. */
export function fuseHint(fuse: readonly string[]): string | undefined {
  if (fuse.length === 0) return undefined;
  const files = fuse.map((one) => `${fuseConnections}/${one}/abort`);
  return `Another session uses the file system, too. To abort it for both, run as root: echo 1 | tee ${files.join(' ')}`;
}
