import { rmSync } from 'node:fs';
import { type LimitNote, readLimitNotes } from '../../sessions/backends/limit-notes.ts';
import type { BerthContainer } from '../../sessions/backends/podman/remove-containers.ts';
import { belongs, type UserState } from '../../sessions/backends/podman/user-processes.ts';
import type { Profile } from '../../config/schema/profile/profile.ts';
import { limitsFile, type SessionContext } from '../../sessions/connections/state-paths.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import { sessionId } from '../../system/program/session-id.ts';
import {
  hardEndText,
  idleEndText,
  isWarningDue,
  warningText,
} from '../../sessions/request/time-limits.ts';
import { asUserThenRoot } from '../../system/as-user.ts';
import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { sessionTraffic } from '../../system/session-traffic.ts';
import { closeConnection } from './close-connection.ts';
import { endSessions } from '../sessions/end-sessions.ts';
import { openConnectionsOf } from '../sessions/list-sessions.ts';
import { connectionUsages, type WithoutTerminal } from '../sessions/session-processes.ts';
import { tellSessionsTheirEnd } from '../sessions/session-stderr.ts';
import { tellSessions } from '../sessions/session-terminal.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

/** A connection with sessions in one place, which have limits. It may have more in others. */
interface LimitedConnection {
  readonly id: string;
  readonly uid: number;
  readonly user: string;
  /** What its sessions run in: `container berth-login`. */
  readonly place: string;
  readonly profile: Profile;
  /** Milliseconds since the epoch. */
  readonly endsAt: number | undefined;
  readonly terminals: readonly string[];
  readonly withoutTerminal: readonly WithoutTerminal[];
  /** When this was last looked at. Milliseconds since the epoch. */
  readonly looked: number | undefined;
  /** Since when it has carried nothing, as far as this was looked at. Milliseconds since the epoch. */
  readonly quietSince: number;
  readonly traffic: number | undefined;
}

/** What the last look left, by connection. */
type LastLook = Readonly<
  Record<
    string,
    { readonly looked: number; readonly quietSince: number; readonly traffic?: number }
  >
>;

/** sshd does not send what it has not read from the session when it is told to end. Milliseconds. */
const messageMs = 1_000;

/**
 * The limits of a user's sessions while the user is connected: tells the terminals that the end comes near, and tells and ends the
 * sessions of containers whose time is over, and those that are idle. Clusters and Slurm end what runs there themselves.
 *
 * All connections to a container, pod or job count as one: while any of this node's carries something, none is idle. A
 * connection that has no session is not looked at; `UnusedConnectionTimeout` of sshd_config(5) is for these.
 *
 * @param containers all of the user's
 * @returns what could not be ended; the next look tries again
 */
export async function enforceLimits(
  site: SessionContext,
  state: UserState,
  containers: readonly BerthContainer[],
): Promise<readonly BerthError[]> {
  const now = site.now();
  const file = limitsFile(site, state.user.uid);
  const connections = await limitedConnections(site, state, { containers, last: lastLook(file) });
  if (connections.length === 0) {
    rmSync(file, { force: true });
    return [];
  }
  writePrivateFile(
    file,
    JSON.stringify(
      Object.fromEntries(
        connections.map(({ id, quietSince, traffic }) => [
          id,
          { looked: now, quietSince, traffic },
        ]),
      ),
    ),
  );
  const failed: BerthError[] = [];
  for (const place of new Set(connections.map((one) => one.place))) {
    const there = connections.filter((one) => one.place === place);
    const end = endOf(place, there, now);
    if (end === undefined) {
      warn(place, there, now);
      continue;
    }
    const told = tellSessionsTheirEnd(there.filter(wantsNotices), end.text);
    const ended = await endSessions(site, there, {
      graceMs: told > 0 ? messageMs : 0,
      cleanUp: async ({ id }, record) =>
        (await closeConnection(site, state.user, { id, record, gone: true })).failed,
    });
    for (const { session, failed: left } of ended) {
      failed.push(...left);
      const { user, id } = session;
      const log = site.log.with({ user, session: sessionId(id) });
      log.info('session ended at its limit', { limit: end.limit });
    }
  }
  return failed;
}

/** Why all sessions in a container, pod or job end now; undefined if they do not. */
function endOf(
  place: string,
  there: readonly LimitedConnection[],
  now: number,
): { readonly limit: 'hard' | 'idle'; readonly text: string } | undefined {
  const isOver = there.some(({ endsAt = Infinity }) => endsAt <= now);
  if (isOver && place.startsWith('container ')) return { limit: 'hard', text: hardEndText(place) };
  const idleMs = Math.max(...there.map(({ profile }) => profile.timeouts.idleMs ?? Infinity));
  const quietSince = Math.max(...there.map((one) => one.quietSince));
  return quietSince + idleMs <= now
    ? { limit: 'idle', text: idleEndText(place, idleMs) }
    : undefined;
}

function warn(place: string, there: readonly LimitedConnection[], now: number): void {
  for (const { endsAt = Infinity, profile, looked, ...session } of there.filter(wantsNotices))
    if (isWarningDue(endsAt, profile.timeouts.warnMs, { looked, now }))
      tellSessions([session], warningText(place, endsAt - now));
}

function wantsNotices({ profile }: Pick<LimitedConnection, 'profile'>): boolean {
  return profile.notices;
}

/** The user's connections that have a session whose profile has limits. */
async function limitedConnections(
  { run, settings, now, looks }: SessionContext,
  { user, host, owner }: UserState,
  before: { readonly containers: readonly BerthContainer[]; readonly last: LastLook },
): Promise<LimitedConnection[]> {
  const open = openConnectionsOf(run, user.uid);
  if (open.length === 0) return [];
  const notes =
    host === undefined
      ? []
      : await asUserThenRoot(user, () =>
          Promise.resolve(readLimitNotes(host.runtimeDir, user.uid)),
        );
  const time = now();
  const usages = connectionUsages(open, (uid) => belongs(uid, owner), looks);
  const sessions = [...usages].flatMap(([connection, usage]) =>
    [
      ...notes.filter((note) => note.connection === connection.id),
      ...before.containers.filter(({ name }) => usage.containers.includes(name)),
    ].flatMap((session) => {
      const profile = settings.profiles.get(session.profile);
      return profile === undefined ? [] : [{ ...connection, usage, session, profile }];
    }),
  );
  const watched = new Set(
    sessions.flatMap(({ id, profile }) => (profile.timeouts.idleMs === undefined ? [] : [id])),
  );
  const carried = sessionTraffic(
    [...usages].flatMap(([{ id, monitor }, { sshd }]) =>
      watched.has(id) ? [{ monitor, sshd }] : [],
    ),
  );
  return sessions.map(({ id, monitor, uid, usage, session, profile }) => {
    const { looked, quietSince = time, traffic: known } = before.last[id] ?? {};
    const traffic = carried.get(monitor.pid);
    const isQuiet = traffic !== undefined && traffic === known;
    const { place, endsAt } = 'place' in session ? session : ofContainer(session);
    return {
      id,
      uid,
      user: user.name,
      place,
      profile,
      endsAt,
      looked,
      traffic,
      terminals: usage.terminals,
      withoutTerminal: usage.withoutTerminal,
      quietSince: isQuiet ? quietSince : time,
    };
  });
}

function ofContainer({
  name,
  created,
  timeouts: { hardMs },
}: BerthContainer): Pick<LimitNote, 'place' | 'endsAt'> {
  return {
    place: `container ${name}`,
    endsAt: hardMs === undefined ? undefined : created + hardMs,
  };
}

/** Longer than for all connections that a user can have. */
const longestLook = 1024 * 1024;

/** A damaged file is as none. */
function lastLook(file: string): LastLook {
  return (parsedJson(readPrivateFile(file, 0, longestLook) ?? '') ?? {}) as LastLook;
}
