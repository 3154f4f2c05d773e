import type { BerthProcess } from '../../sessions/backends/podman/user-processes.ts';
import { cgroupPids, isFrozen, whileFrozen } from '../../system/cgroup.ts';
import { endProcesses, type EndResult, signalProcess } from '../../system/end-processes.ts';
import { isRunning } from '../../system/processes.ts';

/** How processes are found. */
interface Finder<Found extends BerthProcess> {
  /** The last look. */
  readonly latest: readonly BerthProcess[];
  /** A new look at all processes of the user, without those of this program. */
  readonly look: () => Promise<readonly BerthProcess[]>;
  /** Those that end. */
  readonly choose: (all: readonly BerthProcess[]) => readonly Found[];
}

/**
 * Ends processes in a cgroup that scans of /proc miss because they fork a successor and exit: the kernel freezes them, and they are
 * listed and killed. Does nothing if the last look saw all processes there and none is to end.
 *
 * @param cgroup its directory, as of `whileFrozen`; not that of this process
 * @throws system errors
 */
export async function endUnseenProcesses<Found extends BerthProcess>(
  cgroup: string,
  { latest, look, choose }: Finder<Found>,
): Promise<EndResult<Found>> {
  const nothing = { ended: [], left: [] };
  const pids = cgroupPids(cgroup);
  const stay = new Map(latest.map((one) => [one.pid, one]));
  for (const { pid } of choose(latest)) stay.delete(pid);
  const isSeen = (pid: number): boolean => {
    const known = stay.get(pid);
    return known !== undefined && isRunning(known);
  };
  if (pids?.includes(process.pid) === true) return nothing;
  if (pids?.every(isSeen) === true && !isFrozen(cgroup)) return nothing;
  const targets = await whileFrozen(cgroup, async () => {
    const found = choose(await look());
    for (const one of found) signalProcess(one, 'SIGKILL');
    return found;
  });
  return await endProcesses(() => targets.filter(isRunning), [['SIGKILL', 2_000]]);
}
