import { setTimeout as sleep } from 'node:timers/promises';
import { type BerthProcess, type UserState } from '../../backends/podman/user-processes.ts';
import { endProcesses, type EndResult, signalProcess } from '../../system/end-processes.ts';
import { ProcessFreezer } from '../../system/process-freezer.ts';
import {
  isRunning,
  isStoppedOrGone,
  parentsFirst,
  type ProcessId,
} from '../../system/processes.ts';

/** How processes are found. */
interface Finder<Found extends BerthProcess> {
  /** A new look at all processes of the user, without those of this program. */
  readonly look: () => Promise<readonly BerthProcess[]>;
  /** Those that end. */
  readonly choose: (all: readonly BerthProcess[]) => readonly Found[];
}

/**
 * Ends processes that scans of /proc miss because they fork a successor and exit: they are frozen, listed and killed.
 *
 * @param first First process of the container; undefined for all processes of the user on this host.
 * @throws {BerthError} `freezer-failed`
 */
export async function endUnseenProcesses<Found extends BerthProcess>(
  { user, host }: UserState,
  first: BerthProcess | undefined,
  { look: lookAtAll, choose }: Finder<Found>,
): Promise<EndResult<Found>> {
  const nothing = { ended: [], left: [] };
  const place = { ...user, nsenter: host?.podman.nsenter ?? 'nsenter' };
  const freezer = ProcessFreezer.enter(first === undefined ? place : { ...place, first });
  if (freezer === undefined) return nothing;
  const look = async (): Promise<readonly BerthProcess[]> =>
    (await lookAtAll()).filter(({ container }) => !first || container === first.container);
  try {
    const last = await freezer.lastPid();
    const before = await look();
    const chosen = new Set(choose(before).map(({ pid }) => pid));
    // No process was forked between two scans: fork(2) allocates the PID before the child is visible.
    const seen = chosen.size > 0 || choose(await look()).length > 0;
    if (!seen && (await freezer.lastPid()) === last) return nothing;
    const targets: Found[] = [];
    try {
      await freezer.hold();
      await stopParents(before.filter((one) => !one.stopped && !chosen.has(one.pid)));
      await freezer.freeze();
      targets.push(...choose(await look()));
      for (const one of targets) signalProcess(one, 'SIGKILL');
    } finally {
      await letGoOn(freezer, before, look);
    }
    return await endProcesses(() => targets.filter(isRunning), [['SIGKILL', 2_000]]);
  } catch (error) {
    if (first !== undefined && (await isOver(first))) return nothing;
    throw error;
  } finally {
    freezer.leave();
  }
}

/**
 * Whether another cleanup ended the container: the kernel kills all of its processes, our shell inside included, a
 * moment before the first process is gone (pid_namespaces(7)).
 */
async function isOver(first: BerthProcess): Promise<boolean> {
  for (let look = 0; look < 20 && isRunning(first); look += 1) await sleep(100);
  return !isRunning(first);
}

/** How long a process on a busy host may take to stop. Milliseconds. */
const stopMs = 1_000;

/** Stops all processes that have children; see `parentsFirst`. */
async function stopParents(all: readonly BerthProcess[]): Promise<void> {
  const end = performance.now() + stopMs;
  for (const layer of parentsFirst(all)) {
    for (const one of layer) signalProcess(one, 'SIGSTOP');
    while (!layer.every(isStoppedOrGone) && performance.now() < end) await sleep(1);
  }
}

/** Continues what was stopped here. Children first, so that a waiting parent never sees that they stopped. */
async function letGoOn(
  freezer: ProcessFreezer,
  before: readonly BerthProcess[],
  look: () => Promise<readonly BerthProcess[]>,
): Promise<void> {
  const key = ({ pid, start }: ProcessId): string => `${pid}.${start}`;
  const stopped = new Set(before.filter((one) => one.stopped).map(key));
  // Includes processes that do not look stopped: on a busy host the signal may not have been delivered yet.
  const going = (await look()).filter((one) => !stopped.has(key(one)));
  for (const one of going.toSorted((a, b) => Number(b.start) - Number(a.start) || b.pid - a.pid))
    signalProcess(one, 'SIGCONT');
  await freezer.thaw(stopped.size === 0).catch(() => undefined);
}
