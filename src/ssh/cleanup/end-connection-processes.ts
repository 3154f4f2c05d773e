import { keepsProcesses } from '../../session/lingering.ts';
import { countText } from '../../count-text.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { asBerthError, BerthError } from '../../errors/berth-error.ts';
import {
  isRunning,
  isStoppedOrGone,
  parentsFirst,
  type ProcessId,
  withAncestors,
} from '../../system/processes.ts';
import {
  endProcesses,
  signalSteps,
  signalProcess,
  type EndResult,
} from '../../system/end-processes.ts';
import { ProcessFreezer } from '../../system/process-freezer.ts';
import { withUserLock } from '../../connections/user-lock.ts';
import {
  belongsToConnection,
  type BerthProcess,
  type ConnectionFilter,
  receivesHangup,
  userProcesses,
  type UserState,
} from '../../backends/podman/user-processes.ts';
import { freezeLockPath, type SessionContext } from '../../connections/state-paths.ts';

export interface EndedProcesses {
  readonly processes: number;
  /** `processes-not-killed`, `freezer-failed` */
  readonly failed: readonly BerthError[];
}

/** How long podman may take to finish what the connection started. Milliseconds. */
const podmanMs = 5_000;

/** How long to wait for another cleanup that freezes processes of the user. Milliseconds. */
const freezeMs = 30_000;

/**
 * Ends what a connection started: SIGHUP as from a closing terminal, then SIGTERM and SIGKILL as at a shutdown. Processes that fork too
 * fast to be found are frozen, listed and killed.
 *
 * @returns How many processes ended, and an error if some are left or could not be listed.
 */
export async function endConnectionProcesses(
  site: SessionContext,
  part: UserState,
  wanted: ConnectionFilter,
): Promise<EndedProcesses> {
  const { owner } = part;
  const lingers = lingersAt(site);
  const ofConnection = (one: BerthProcess): boolean =>
    one.part !== 'support' && belongsToConnection(one, wanted);
  const look = (): readonly BerthProcess[] => withoutOwn(userProcesses(owner));
  const own = (): readonly BerthProcess[] => look().filter(ofConnection);
  const all = look();
  const hungUp = all.filter(
    (one) =>
      one.part === 'inside' &&
      ofConnection(one) &&
      lingers(one.container) &&
      receivesHangup(one, all),
  );
  const ends = (one: BerthProcess): boolean =>
    one.part !== 'podman' && !(one.part === 'inside' && lingers(one.container));
  const rounds: EndResult[] = [];
  rounds.push(await endProcesses(() => hungUp.filter(isRunning), [['SIGHUP', 400]]));
  const end = async (
    which: (one: BerthProcess) => boolean,
    steps: typeof signalSteps,
  ): Promise<void> => {
    rounds.push(await endProcesses(() => own().filter(which), steps));
  };
  await end(ends, signalSteps);
  // A killed podman leaves locks and layers, which take longer to remove.
  await end(
    ({ part: kind }) => kind === 'podman',
    [
      ['SIGCONT', podmanMs],
      ['SIGKILL', 2_000],
    ],
  );
  await end(ends, [['SIGKILL', 2_000]]);
  const failed: BerthError[] = [];
  for (const first of placesOf(look(), wanted, lingers)) {
    // Under a lock: if two cleanups froze the same processes, each would believe that the processes frozen by the other
    // one had been stopped before, and neither would send them SIGCONT.
    const unseen = withUserLock(site, freezeLockPath(site, part.user.uid), freezeMs, () =>
      endUnseen(part, first, (one) => ofConnection(one) && ends(one)),
    );
    await unseen.then(
      (round) => rounds.push(round),
      (thrown: unknown) => failed.push(asBerthError(thrown, `processes of ${part.user.name}`)),
    );
  }
  const processes = rounds.reduce((sum, { ended }) => sum + ended, 0);
  // nsenter, which froze them, belongs to the connection too, and may take a moment to exit.
  const { left } = await endProcesses(() => own().filter(ends), [['SIGKILL', 2_000]]);
  if (left > 0) failed.push(processesLeft(wanted.id, left));
  return { processes, failed };
}

function processesLeft(id: string, left: number): BerthError {
  return new BerthError(`${countText(left, 'process')} of connection ${id} survived SIGKILL`, {
    code: 'processes-not-killed',
  });
}

type Lingers = (container: string | undefined) => boolean;

function lingersAt({ settings }: SessionContext): Lingers {
  return (container) => {
    const name = /^berth-(.+)$/.exec(container ?? '')?.[1];
    const lifetime = name === undefined ? undefined : settings.profiles.get(name)?.lifetime;
    return lifetime !== undefined && keepsProcesses(lifetime);
  };
}

/** Where to freeze processes: undefined is this host, else the first process of a container. */
function placesOf(
  all: readonly BerthProcess[],
  { id, hostProcesses }: ConnectionFilter,
  lingers: Lingers,
): readonly (BerthProcess | undefined)[] {
  if (hostProcesses) return [undefined];
  return all.filter(
    ({ part, pids, container }) =>
      part === 'support' &&
      pids.length > 1 &&
      pids.at(-1) === 1 &&
      container?.startsWith('berth-') === true &&
      // This container is removed with all its processes.
      !container.endsWith(`-${id}`) &&
      !lingers(container),
  );
}

/**
 * Ends processes that scans of /proc miss because they fork a successor and exit.
 *
 * @param first First process of the container; undefined for all processes of the user on this host.
 */
async function endUnseen(
  { owner, user, host }: UserState,
  first: BerthProcess | undefined,
  which: (one: BerthProcess) => boolean,
): Promise<EndResult> {
  const place = { ...user, nsenter: host?.podman.nsenter ?? 'nsenter' };
  const freezer = ProcessFreezer.enter(first === undefined ? place : { ...place, first });
  if (freezer === undefined) return nothing;
  const look = (): readonly BerthProcess[] => {
    const all = withoutOwn(userProcesses(owner));
    return all.filter(({ container }) => !first || container === first.container);
  };
  try {
    const last = await freezer.lastPid();
    const before = look();
    // No process was forked between two scans: fork(2) allocates the PID before the child is visible.
    const seen = before.some(which) || look().some(which);
    if (!seen && (await freezer.lastPid()) === last) return nothing;
    const targets: BerthProcess[] = [];
    try {
      await freezer.hold();
      await stopParents(before.filter((one) => !one.stopped && !which(one)));
      await freezer.freeze();
      targets.push(...look().filter(which));
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

const nothing: EndResult = { ended: 0, left: 0 };

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
  look: () => readonly BerthProcess[],
): Promise<void> {
  const key = ({ pid, start }: ProcessId): string => `${pid}.${start}`;
  const stopped = new Set(before.filter((one) => one.stopped).map(key));
  // Includes processes that do not look stopped: on a busy host the signal may not have been delivered yet.
  const going = look().filter((one) => !stopped.has(key(one)));
  for (const one of going.toSorted((a, b) => Number(b.start) - Number(a.start) || b.pid - a.pid))
    signalProcess(one, 'SIGCONT');
  await freezer.thaw(stopped.size === 0).catch(() => undefined);
}

/** Leaves out descendants of this process: they run as the user, in the connection's audit session. */
function withoutOwn(all: readonly BerthProcess[]): readonly BerthProcess[] {
  const byPid = new Map(all.map((one) => [one.pid, one]));
  return all.filter((one) =>
    withAncestors(one, byPid, 8).every(({ parent }) => parent !== process.pid),
  );
}
