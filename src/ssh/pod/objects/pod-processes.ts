/** A process of a pod's session container, as the pod's own shell tells it. */
export interface PodProcess {
  readonly pid: number;
  /** 0 where it was begun from outside: the container's own first process, and each exec. */
  readonly parent: number;
  /** PID of the leader of its terminal session, setsid(2). */
  readonly session: number;
  readonly stopped: boolean;
  /** Clock ticks since the node was booted. */
  readonly start: number;
  /** Since then, in clock ticks: hundredths of a second. */
  readonly age: number;
  /** BERTH_CONNECTION of the environment that it was started with, or `sweepMark`; it may be a lie. */
  readonly mark: string | undefined;
}

/** Of a shell that sweeps the pod, of whatever login node. */
const sweepMark = 'sweep';

/** @param rows `PID PARENT SESSION STATE START AGE MARK`, `-` for no mark; what is no such row is left out. */
export function podProcesses(rows: readonly string[]): PodProcess[] {
  return rows.flatMap((row) => {
    const [, pid, parent, session, state = '', start, age, mark] =
      /^([0-9]{1,10}) ([0-9]{1,10}) ([0-9]{1,10}) ([A-Za-z]) ([0-9]{1,20}) (-?[0-9]{1,20}) (\S{1,64})$/.exec(
        row,
      ) ?? [];
    if (pid === undefined) return [];
    return {
      ...{ pid: Number(pid), parent: Number(parent), session: Number(session) },
      ...{ stopped: /^[Tt]$/.test(state), start: Number(start), age: Number(age) },
      mark: mark === '-' ? undefined : mark,
    };
  });
}

/**
 * What sessions have in a pod: all but the container's own first process, and the shells that look.
 *
 * @param looking PID of that shell.
 */
export function sessionProcesses(all: readonly PodProcess[], looking: number): PodProcess[] {
  const first = all
    .filter(({ parent, pid }) => parent === 0 && pid !== looking)
    .toSorted((a, b) => a.start - b.start || a.pid - b.pid)[0];
  const looks = inLineOf(byPid(all), (one) => one.pid === looking || isSweep(one));
  return all.filter((one) => one !== first && !looks(one));
}

/** How long an exec may take until its process wears its mark: it is the container runtime's own before. */
const beginning = 300;

/** No sweep takes so long; a user may make one up. Hundredths of a second. */
const longestSweep = 3_000;

/** The other sweeps that began before this one, and are still there. */
export function earlierSweeps(all: readonly PodProcess[], looking: number): PodProcess[] {
  const own = all.find(({ pid }) => pid === looking);
  if (own === undefined) return [];
  return all.filter(
    (one) =>
      isSweep(one) && (one.start < own.start || (one.start === own.start && one.pid < own.pid)),
  );
}

function isSweep({ mark, parent, age }: PodProcess): boolean {
  return mark === sweepMark && parent === 0 && age < longestSweep;
}

/**
 * Whether it is known to be of a connection that is open: by its mark, or because whom it descends from,
 * or leads its terminal session, wears one. What is known of nobody is of nobody: a mark can be taken off
 * and made up. Only what has just been begun from outside may wear none yet.
 */
export function belongsTo(
  open: ReadonlySet<string>,
  all: readonly PodProcess[],
): (one: PodProcess) => boolean {
  const known = byPid(all);
  const wears = ({ mark, parent, age }: PodProcess): boolean =>
    mark === undefined ? parent === 0 && age < beginning : open.has(mark);
  const worn = inLineOf(known, wears);
  return (one) => {
    const leader = known.get(one.session);
    return worn(one) || (leader !== undefined && worn(leader));
  };
}

/**
 * Whether a closed terminal would have ended it: its session was begun from outside, and not by a daemon
 * inside such as tmux.
 */
export function hangsUpInPod(all: readonly PodProcess[]): (one: PodProcess) => boolean {
  const known = byPid(all);
  return ({ session }) => (known.get(session)?.parent ?? 0) <= 1;
}

/**
 * Whether a process or one that it descends from is such a one. Each is judged once: the pod says who is
 * whose parent, and may say a chain of all, or a circle.
 */
function inLineOf(
  known: ReadonlyMap<number, PodProcess>,
  is: (one: PodProcess) => boolean,
): (one: PodProcess) => boolean {
  const judged = new Map<PodProcess, boolean>();
  return (one) => {
    const way: PodProcess[] = [];
    let at: PodProcess | undefined = one;
    while (at !== undefined && !judged.has(at)) {
      judged.set(at, is(at));
      if (judged.get(at) === true) break;
      way.push(at);
      at = known.get(at.parent);
    }
    const verdict = at !== undefined && judged.get(at) === true;
    for (const from of way) judged.set(from, verdict);
    return verdict;
  };
}

function byPid(all: readonly PodProcess[]): ReadonlyMap<number, PodProcess> {
  return new Map(all.map((one) => [one.pid, one]));
}
