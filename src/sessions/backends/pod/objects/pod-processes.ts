/** A process of a pod's session container, as a shell in the pod reports it. */
export interface PodProcess {
  readonly pid: number;
  /** 0 if it was started from outside: the container's first process, and each exec. */
  readonly parent: number;
  /** PID of the leader of its terminal session, setsid(2). */
  readonly session: number;
  readonly stopped: boolean;
  /** Clock ticks since the node booted. */
  readonly start: number;
  /** Clock ticks since its start: hundredths of a second. */
  readonly age: number;
  /** BERTH_CONNECTION in its initial environment, or `sweepMark`. The user can forge it. */
  readonly mark: string | undefined;
}

/** Mark of a shell that sweeps the pod, for any login node. */
const sweepMark = 'sweep';

/** @param rows `PID PARENT SESSION STATE START AGE MARK`, with `-` for no mark; other rows are ignored */
export function podProcesses(rows: readonly string[]): PodProcess[] {
  return rows.flatMap((row) => {
    const [, pid, parent, session, state = '', start, age, mark] =
      /^([0-9]{1,10}) ([0-9]{1,10}) ([0-9]{1,10}) ([A-Za-z]) ([0-9]{1,20}) (-?[0-9]{1,20}) (\S{1,96})$/.exec(
        row,
      ) ?? [];
    if (pid === undefined) return [];
    return {
      pid: Number(pid),
      parent: Number(parent),
      session: Number(session),
      stopped: /^[Tt]$/.test(state),
      start: Number(start),
      age: Number(age),
      mark: mark === '-' ? undefined : mark,
    };
  });
}

/**
 * The processes of sessions: all except the container's first process and the shells of sweeps.
 *
 * @param ownShellPid PID of this sweep's shell
 */
export function sessionProcesses(all: readonly PodProcess[], ownShellPid: number): PodProcess[] {
  const first = all
    .filter(({ parent, pid }) => parent === 0 && pid !== ownShellPid)
    .toSorted((a, b) => a.start - b.start || a.pid - b.pid)[0];
  const looks = selfOrAncestor(byPid(all), (one) => one.pid === ownShellPid || isSweep(one));
  return all.filter((one) => one !== first && !looks(one));
}

/** How long the process of an exec may lack its mark: until then it is the container runtime's. Hundredths of a second. */
const beginning = 300;

/** Longer than any sweep takes; a user can imitate one. Hundredths of a second. */
const longestSweep = 3_000;

/** Other sweeps that started before this one and still run. */
export function earlierSweeps(all: readonly PodProcess[], ownShellPid: number): PodProcess[] {
  const own = all.find(({ pid }) => pid === ownShellPid);
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
 * Whether a process belongs to an open connection: by its own mark, or by that of an ancestor or of its session leader.
 * Without such a mark it does not belong to any, because a mark can be removed or forged. Only a process that was just
 * started from outside may lack its mark.
 */
export function belongsToOpenConnection(
  open: ReadonlySet<string>,
  all: readonly PodProcess[],
): (one: PodProcess) => boolean {
  const known = byPid(all);
  const hasMark = ({ mark, parent, age }: PodProcess): boolean =>
    mark === undefined ? parent === 0 && age < beginning : open.has(mark);
  const belongs = selfOrAncestor(known, hasMark);
  return (one) => {
    const leader = known.get(one.session);
    return belongs(one) || (leader !== undefined && belongs(leader));
  };
}

/**
 * Whether a closed terminal would end a process: its terminal session was started from outside, and not by a daemon in the
 * pod such as tmux.
 */
export function endsWithTerminal(all: readonly PodProcess[]): (one: PodProcess) => boolean {
  const known = byPid(all);
  return ({ session }) => (known.get(session)?.parent ?? 0) <= 1;
}

/**
 * Whether `is` holds for a process or one of its ancestors. Each process is evaluated once: the parents are reported by the
 * pod, and may form a long chain or a cycle.
 */
function selfOrAncestor(
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
