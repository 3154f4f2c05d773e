import { setTimeout as sleep } from 'node:timers/promises';
import { asBerthError, BerthError } from '../../errors.ts';
import { parentsFirst } from '../request/parents-first.ts';
import { endProcesses, escalation, signalProcess, type Ended } from '../../system/end-processes.ts';
import { Freezer } from '../../system/freezer.ts';
import { isRunning, isStill, type ProcessId } from '../../system/processes.ts';
import { aloneForUser } from '../connections/user-lock.ts';
import {
  hangsUp,
  isOfConnection,
  userProcesses,
  type BerthProcess,
  type WantedConnection,
} from './connection-processes.ts';
import { freezeLock, type SessionSite } from '../connections/state-paths.ts';
import type { UserSite } from './user-state.ts';

export interface EndedProcesses {
  readonly processes: number;
  /** `processes-left`, `freezer-failed` */
  readonly failed: readonly BerthError[];
}

/** How long podman may go on with what the connection began. Milliseconds. */
const podmanMs = 5_000;

/** How long to wait for another close that stops processes of the user. Milliseconds. */
const freezeMs = 30_000;

/**
 * Ends what a connection started, step by step as a closed terminal and a shutdown do; what then comes and
 * goes faster than it is looked for is stopped at one moment, looked through and killed.
 *
 * @returns How many ended; an error where some stay, or nobody can say.
 */
export async function endConnectionProcesses(
  site: SessionSite,
  part: UserSite,
  wanted: WantedConnection,
): Promise<EndedProcesses> {
  const { owner } = part;
  const lingers = lingersAt(site);
  const ofConnection = (one: BerthProcess): boolean =>
    one.part !== 'support' && isOfConnection(one, wanted);
  const look = (): readonly BerthProcess[] => withoutOwn(userProcesses(owner));
  const own = (): readonly BerthProcess[] => look().filter(ofConnection);
  const all = look();
  const hungUp = all.filter(
    (one) =>
      one.part === 'inside' && ofConnection(one) && lingers(one.container) && hangsUp(one, all),
  );
  const ends = (one: BerthProcess): boolean =>
    one.part !== 'podman' && !(one.part === 'inside' && lingers(one.container));
  const rounds: Ended[] = [];
  rounds.push(await endProcesses(() => hungUp.filter(isRunning), [['SIGHUP', 400]]));
  const end = async (
    which: (one: BerthProcess) => boolean,
    steps: typeof escalation,
  ): Promise<void> => {
    rounds.push(await endProcesses(() => own().filter(which), steps));
  };
  await end(ends, escalation);
  // What podman does half costs more to clear up; killed, it leaves locks and layers.
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
    // Two that stop the same processes would each take those for stopped before that the other has stopped,
    // and nobody would let them go on.
    const unseen = aloneForUser(site, freezeLock(site, part.user.uid), freezeMs, () =>
      endUnseen(part, first, (one) => ofConnection(one) && ends(one)),
    );
    await unseen.then(
      (round) => rounds.push(round),
      (thrown: unknown) => failed.push(asBerthError(thrown, `processes of ${part.user.name}`)),
    );
  }
  const processes = rounds.reduce((sum, { ended }) => sum + ended, 0);
  // What stopped them was of the connection, too, and may need a moment to end.
  const { left } = await endProcesses(() => own().filter(ends), [['SIGKILL', 2_000]]);
  if (left > 0) failed.push(processesLeft(wanted.id, left));
  return { processes, failed };
}

function processesLeft(id: string, left: number): BerthError {
  return new BerthError(`${left} processes of connection ${id} survived SIGKILL`, {
    code: 'processes-left',
    exit: 'temporary',
    hint: '`berth reap` tries again. Processes in state D wait for I/O, often of a hung NFS mount.',
  });
}

type Lingers = (container: string | undefined) => boolean;

function lingersAt({ settings }: SessionSite): Lingers {
  return (container) => {
    const name = /^berth-(.+)$/.exec(container ?? '')?.[1];
    const lifetime = name === undefined ? undefined : settings.profiles.get(name)?.lifetime;
    return lifetime !== undefined && lifetime.kind !== 'connection' && lifetime.linger;
  };
}

/** Who reaches what the connection may have left: this host, or the first process of each container. */
function placesOf(
  all: readonly BerthProcess[],
  { id, hostProcesses }: WantedConnection,
  lingers: Lingers,
): readonly (BerthProcess | undefined)[] {
  if (hostProcesses) return [undefined];
  return all.filter(
    ({ part, pids, container }) =>
      part === 'support' &&
      pids.length > 1 &&
      pids.at(-1) === 1 &&
      container?.startsWith('berth-') === true &&
      // It ends with all that is in it.
      !container.endsWith(`-${id}`) &&
      !lingers(container),
  );
}

/**
 * Ends what no look at /proc has found: a process that forks a successor and ends may be missed each time.
 *
 * @param first Of the container; absent for all of the user's processes on this host.
 */
async function endUnseen(
  { owner, user, host }: UserSite,
  first: BerthProcess | undefined,
  which: (one: BerthProcess) => boolean,
): Promise<Ended> {
  const place = { ...user, nsenter: host?.podman.nsenter ?? 'nsenter' };
  const freezer = Freezer.enter(first === undefined ? place : { ...place, first });
  if (freezer === undefined) return nothing;
  const look = (): readonly BerthProcess[] => {
    const all = withoutOwn(userProcesses(owner));
    return all.filter(({ container }) => !first || container === first.container);
  };
  try {
    const last = await freezer.lastPid();
    const before = look();
    // Nobody was born while we looked, twice: fork(2) takes the PID before the child is seen.
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

const nothing: Ended = { ended: 0, left: 0 };

/**
 * Whether a container has ended, by another close: the kernel kills all that is in it, our shell too, a
 * moment before its first process is gone (pid_namespaces(7)).
 */
async function isOver(first: BerthProcess): Promise<boolean> {
  for (let look = 0; look < 20 && isRunning(first); look += 1) await sleep(100);
  return !isRunning(first);
}

/** How long a busy host may need until who was stopped has seen its signal. Milliseconds. */
const stopMs = 1_000;

/** See `parentsFirst`. */
async function stopParents(all: readonly BerthProcess[]): Promise<void> {
  const end = performance.now() + stopMs;
  for (const layer of parentsFirst(all)) {
    for (const one of layer) signalProcess(one, 'SIGSTOP');
    while (!layer.every(isStill) && performance.now() < end) await sleep(1);
  }
}

/** Children first: whoever waits for one never sees that it was stopped. */
async function letGoOn(
  freezer: Freezer,
  before: readonly BerthProcess[],
  look: () => readonly BerthProcess[],
): Promise<void> {
  const key = ({ pid, start }: ProcessId): string => `${pid}.${start}`;
  const stopped = new Set(before.filter((one) => one.stopped).map(key));
  // Also who does not look stopped: on a busy host a process may not yet have met its signal.
  const going = look().filter((one) => !stopped.has(key(one)));
  for (const one of going.toSorted((a, b) => Number(b.start) - Number(a.start) || b.pid - a.pid))
    signalProcess(one, 'SIGCONT');
  await freezer.thaw(stopped.size === 0).catch(() => undefined);
}

/** What we start as the user is of the connection, too, by its audit session. */
function withoutOwn(all: readonly BerthProcess[]): readonly BerthProcess[] {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  return all.filter(({ parent }) => {
    let at: number | undefined = parent;
    for (let step = 0; step < 8 && at !== undefined; step += 1) {
      if (at === process.pid) return false;
      at = parents.get(at);
    }
    return true;
  });
}
