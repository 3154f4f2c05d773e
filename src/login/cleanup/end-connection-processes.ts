import { countText } from '../../system/text/count-text.ts';
import {
  type BerthProcess,
  type ConnectionFilter,
  connectionOf,
  currentUserProcesses,
  receivesHangup,
  type UserState,
} from '../../sessions/backends/podman/user-processes.ts';
import { fuseHint, killProcesses } from '../../sessions/backends/podman/kill-processes.ts';
import { connectionCgroup } from '../../sessions/connections/connection-cgroup.ts';
import { freezeLockPath, type SessionContext } from '../../sessions/connections/state-paths.ts';
import { withUserLock } from '../../sessions/connections/user-lock.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { keepsProcesses } from '../../sessions/request/keeps-processes.ts';
import {
  endProcesses,
  signalSteps,
  type EndResult,
  type SignalSteps,
} from '../../system/end-processes.ts';
import { canFreeze, cgroupOf, delegatedCgroup } from '../../system/cgroup.ts';
import { isRunning, withAncestors } from '../../system/processes.ts';
import { endUnseenProcesses } from './end-unseen-processes.ts';

export interface EndedProcesses {
  readonly processes: number;
  /** `processes-not-killed`, `lock-timeout` */
  readonly failed: readonly BerthError[];
}

/** A process of one of the connections that are closed. */
interface OwnProcess extends BerthProcess {
  /** ID of its connection. */
  readonly connection: string;
}

/** How long podman may take to finish what the connection started. Milliseconds. */
const podmanMs = 5_000;

/** How long to wait for another cleanup that freezes processes of the user. Milliseconds. */
const freezeMs = 30_000;

/**
 * Ends what connections of one user started: SIGHUP as from a closing terminal, then SIGTERM and SIGKILL as at a shutdown.
 * Processes that fork too fast to be found are frozen, listed and killed.
 *
 * It runs for several users at once: nothing in it changes the credentials of this process, and their looks at all
 * processes of the host are shared (`site.looks`).
 *
 * @returns For the ID of each connection: how many processes ended, and an error if some are left or could not be listed.
 */
export async function endConnectionProcesses(
  site: SessionContext,
  part: UserState,
  wanted: readonly ConnectionFilter[],
): Promise<(id: string) => EndedProcesses> {
  const lingers = lingersAt(site);
  const look = async (): Promise<readonly BerthProcess[]> =>
    withoutOwn(await currentUserProcesses(part.owner, site.looks));
  const stays = ({ part: kind, container }: BerthProcess): boolean =>
    kind === 'inside' && lingers(container);
  const ofConnections = (all: readonly BerthProcess[]): readonly OwnProcess[] => {
    const ended = endedSessions(all);
    return all.flatMap((one) => {
      if (one.part === 'support') return [];
      const isForked =
        ended.has(one.session) && one.container?.startsWith('berth-') === true && !stays(one);
      const connection = connectionOf(one, wanted) ?? (isForked ? wanted[0] : undefined);
      return connection === undefined ? [] : [{ ...one, connection: connection.id }];
    });
  };
  const ends = (one: BerthProcess): boolean => one.part !== 'podman' && !stays(one);
  const choose = (all: readonly BerthProcess[]): readonly OwnProcess[] =>
    ofConnections(all).filter(ends);
  let latest = await look();
  const hungUp = ofConnections(latest).filter((one) => stays(one) && receivesHangup(one, latest));
  const rounds: EndResult<OwnProcess>[] = [];
  if (hungUp.length > 0) {
    rounds.push(await endProcesses(() => hungUp.filter(isRunning), [['SIGHUP', 400]]));
    latest = await look();
  }
  const end = async (which: (one: BerthProcess) => boolean, steps: SignalSteps): Promise<void> => {
    // The look that ended one round begins the next.
    let first: typeof latest | undefined = latest;
    const find = async (): Promise<readonly OwnProcess[]> => {
      latest = first ?? (await look());
      first = undefined;
      return ofConnections(latest).filter(which);
    };
    rounds.push(await endProcesses(find, steps));
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
  for (const cgroup of cgroupsToSweep(site, part.user.uid, latest, wanted, lingers)) {
    // Under a lock: another cleanup would thaw what this one has frozen.
    const unseen = withUserLock(site, freezeLockPath(site, part.user.uid), freezeMs, () =>
      endUnseenProcesses(cgroup, { latest, look, choose }),
    );
    await unseen.then(
      (round) => rounds.push(round),
      (thrown: unknown) => failed.push(asBerthError(thrown, `processes of ${part.user.name}`)),
    );
  }
  const { left, fuse } = await killProcesses(part.owner, async () => choose(await look()));
  return (id) => {
    const isIts = ({ connection }: OwnProcess): boolean => connection === id;
    const processes = rounds.flatMap(({ ended }) => ended.filter(isIts)).length;
    const stay = left.filter(isIts).length;
    return { processes, failed: [...failed, ...(stay > 0 ? [notKilled(id, stay, fuse)] : [])] };
  };
}

function notKilled(id: string, left: number, fuse: readonly string[]): BerthError {
  const why = fuse.length === 0 ? '' : `: no answer from FUSE connection ${fuse.join(', ')}`;
  return new BerthError(
    'processes-not-killed',
    `${countText(left, 'process')} of connection ${id} survived SIGKILL${why}`,
    { hint: fuseHint(fuse) },
  );
}

type Lingers = (container: string | undefined) => boolean;

function lingersAt({ settings }: SessionContext): Lingers {
  return (container) => {
    const name = /^berth-(.+)$/.exec(container ?? '')?.[1];
    const lifetime = name === undefined ? undefined : settings.profiles.get(name)?.lifetime;
    return lifetime !== undefined && keepsProcesses(lifetime);
  };
}

/**
 * Audit sessions in which only containers' own processes are, and what these have forked: the connection that started the container has
 * ended. Whoever may trace a process can have it fork.
 */
function endedSessions(all: readonly BerthProcess[]): ReadonlySet<number | undefined> {
  const sessions = new Set<number | undefined>();
  for (const { part, session } of all) if (part === 'support') sessions.add(session);
  for (const { part, session } of all)
    if (part !== 'support' && part !== 'inside') sessions.delete(session);
  return sessions;
}

/**
 * Cgroups in which processes of the connections may be that no look found: the connections' own, and those that were given to
 * the user, such as that of systemd's manager of the user, which contains containers.
 */
function cgroupsToSweep(
  site: SessionContext,
  uid: number,
  all: readonly BerthProcess[],
  wanted: readonly ConnectionFilter[],
  lingers: Lingers,
): ReadonlySet<string> {
  const own = wanted.map(({ id }) => connectionCgroup(site, uid, id));
  const around = all.flatMap(({ pid, container }) => {
    // Its processes stay, or it is removed with all of them.
    const skip = lingers(container) || wanted.some(({ id }) => container?.endsWith(`-${id}`));
    return skip ? [] : [cgroupOf(pid)];
  });
  const delegated = Array.from(new Set(around), (directory) =>
    directory === undefined ? undefined : delegatedCgroup(directory, uid),
  );
  const places = [...own, ...delegated].filter((one) => one !== undefined);
  return new Set(places.filter(canFreeze));
}

/** Leaves out descendants of this process: they run as the user, in the connection's audit session. */
function withoutOwn(all: readonly BerthProcess[]): readonly BerthProcess[] {
  const byPid = new Map(all.map((one) => [one.pid, one]));
  return all.filter((one) =>
    withAncestors(one, byPid, 8).every(({ parent }) => parent !== process.pid),
  );
}
