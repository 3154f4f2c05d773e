import { readUserState, type UserState } from '../../sessions/backends/podman/user-processes.ts';
import {
  type ContainerExpiry,
  findExpiredContainers,
} from '../../sessions/backends/podman/clean-up-containers.ts';
import { removeConnectionCgroups } from '../../sessions/connections/connection-cgroup.ts';
import { unmountRuntimeDir } from '../../sessions/connections/mount-runtime-dir.ts';
import { openConnections } from '../../sessions/connections/open-connections.ts';
import type { SessionContext } from '../../sessions/connections/state-paths.ts';
import { asBerthError, type BerthError } from '../../system/errors/berth-error.ts';
import { type User, userOfUid } from '../../system/identity/nss.ts';
import type { UserService } from '../sessions/list-sessions.ts';
import { cleanupSteps, runCleanupSteps } from './close-connection.ts';
import { closeGoneConnections, findGoneConnections } from './gone-connections.ts';

/** What was found and done for one user. With a dry run: what would be done. */
export interface UserReap {
  /** Connections that ended without PAM. */
  readonly connections: readonly EndedConnection[];
  readonly processes: number;
  /** Names of removed containers, with their user. */
  readonly containers: readonly { readonly user: string; readonly name: string }[];
  /** Connections and containers that remain. */
  readonly sessionsOpen: number;
  readonly containersLeft: number;
  /** What systemd's managers of users run on this host, for an admin to check; it is not ended. */
  readonly services: readonly UserService[];
  /** UIDs without an account that have a storage, for an admin to check. */
  readonly ownerless: readonly number[];
  readonly failed: readonly BerthError[];
}

interface ReapContext extends SessionContext {
  /** Those of the user. */
  readonly services: readonly UserService[];
}

export interface EndedConnection {
  readonly user: string;
  readonly id: string;
}

export const emptyReap: UserReap = {
  connections: [],
  processes: 0,
  containers: [],
  sessionsOpen: 0,
  containersLeft: 0,
  services: [],
  ownerless: [],
  failed: [],
};

/** The cleanup of one user, which has begun. No part throws. */
export interface BegunReap {
  /** As of `GoneConnections`; undefined if there are none. */
  readonly endProcesses: (() => Promise<void>) | undefined;
  /** All else. */
  readonly finish: () => Promise<UserReap>;
}

/** Begins to end what PAM missed for one user, and what has expired. Never throws. */
export async function beginReap(
  site: ReapContext,
  uid: number,
  dryRun: boolean,
): Promise<BegunReap> {
  const only = (reaped: Partial<UserReap>): BegunReap => ({
    endProcesses: undefined,
    finish: () => Promise.resolve({ ...emptyReap, ...reaped }),
  });
  try {
    const user = userOfUid(uid);
    if (user !== undefined) return await begin(site, user, dryRun);
    if (!dryRun) await unmountRuntimeDir(site, { uid });
    return only({ ownerless: [uid] });
  } catch (error) {
    return only({ failed: [asBerthError(error, `UID ${uid}`)] });
  }
}

async function begin(context: ReapContext, user: User, dryRun: boolean): Promise<BegunReap> {
  const site = { ...context, endsConnected: true };
  const failed: BerthError[] = [];
  const look = async (part: UserState): Promise<ContainerExpiry & { readonly known: boolean }> => {
    try {
      return { ...(await findExpiredContainers(site, part, { note: false })), known: true };
    } catch (error) {
      // Connections and processes are handled even if the user has damaged the list of containers.
      if (dryRun) failed.push(asBerthError(error, `containers of ${user.name}`));
      return { open: openConnections(site, user.uid), all: [], over: [], known: false };
    }
  };
  const state = await readUserState(site, user);
  const before = await look(state);
  const limited = !dryRun && hasLimits(site.settings);
  if (limited) {
    const { enforceLimits } = await import('./enforce-limits.ts');
    failed.push(...(await enforceLimits(site, state, before.all)));
  }
  const gone = findGoneConnections(site, user.uid, dryRun);
  const closing =
    dryRun || gone.length === 0 ? undefined : await closeGoneConnections(site, user, gone);
  const open = limited ? openConnections(site, user.uid) : before.open;
  // So it is each minute for nearly all users. Each change of credentials takes time.
  const nothingExpires =
    before.known && before.over.length === 0 && open.size > 0 && closing === undefined;
  const finish = async (): Promise<UserReap> => {
    const ended = await closing?.finish();
    failed.push(...(ended?.failed ?? []));
    const part = nothingExpires ? state : await readUserState(site, user);
    if (!dryRun) {
      const steps = await cleanupSteps({ ...site, skipsExpired: nothingExpires }, user);
      failed.push(...(await runCleanupSteps(part, steps)).failed);
      removeConnectionCgroups(site, user.uid);
    }
    const after = dryRun || nothingExpires ? { ...before, open } : await look(part);
    const left = new Set(
      (dryRun ? before.all.filter((one) => !before.over.includes(one)) : after.all).map(
        ({ id }) => id,
      ),
    );
    return {
      failed,
      ownerless: [],
      services: context.services,
      processes: ended?.processes ?? 0,
      connections: gone.map((id) => ({ user: user.name, id })),
      containers: before.all.flatMap(({ id, name }) =>
        left.has(id) ? [] : [{ user: user.name, name }],
      ),
      sessionsOpen: after.open.size,
      containersLeft: left.size,
    };
  };
  const caught = (error: unknown): UserReap => ({
    ...emptyReap,
    failed: [asBerthError(error, `UID ${user.uid}`)],
  });
  return { endProcesses: closing?.endProcesses, finish: () => finish().catch(caught) };
}

/** Whether connected users may have to be told or ended: see `enforceLimits`. */
function hasLimits({ profiles, rules }: SessionContext['settings']): boolean {
  return (
    [...profiles.values(), ...rules].some(({ backend }) => backend === 'slurm') ||
    [...profiles.values()].some(
      ({ timeouts: { idleMs, hardMs } }) => (idleMs ?? hardMs) !== undefined,
    )
  );
}
