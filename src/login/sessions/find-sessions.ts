import { BlockList, isIP } from 'node:net';
import type { PodSession } from '../../sessions/backends/pod/pod-session.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { parentPid } from '../../system/processes.ts';
import type { Session } from './list-sessions.ts';

/** Which sessions are meant; all conditions must hold, and one value of each list. */
export interface SessionFilter {
  readonly users?: readonly string[];
  readonly profiles?: readonly string[];
  /** Addresses, or networks such as 192.0.2.0/24. */
  readonly from?: readonly string[];
  /** Only those with a terminal at which nothing was typed for longer. */
  readonly idleOverSeconds?: number;
}

/** @throws {BerthError} `usage` if a value of `from` is neither an address nor a network */
function filterSessions(
  sessions: readonly Session[],
  { users, profiles, from, idleOverSeconds }: SessionFilter,
): readonly Session[] {
  const isFrom = from === undefined ? () => true : addressTest(from);
  return sessions.filter(
    (one) =>
      (users === undefined || users.includes(one.user)) &&
      (profiles === undefined || one.profiles.some((name) => profiles.includes(name))) &&
      (idleOverSeconds === undefined || (one.idleSeconds ?? -1) > idleOverSeconds) &&
      isFrom(one.from),
  );
}

/** The same for pods. Where their users come from and when they last typed is known on the login nodes only. */
function filterPods(
  pods: readonly PodSession[],
  { users, profiles, from, idleOverSeconds }: SessionFilter,
): readonly PodSession[] {
  if (from !== undefined || idleOverSeconds !== undefined) return [];
  return pods.filter(
    ({ user, profileLabel }) =>
      (users === undefined || (user !== undefined && users.includes(user))) &&
      (profiles === undefined || profiles.includes(profileLabel ?? '')),
  );
}

function addressTest(wanted: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of wanted) {
    const [address = '', bits, ...more] = text.split('/');
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    if (version === 0 || more.length > 0 || !isPrefixLength(bits, most)) throw notAnAddress(text);
    list.addSubnet(address, bits === undefined ? most : Number(bits), family(version));
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, family(version));
  };
}

function isPrefixLength(bits: string | undefined, most: number): boolean {
  return bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= most);
}

function family(version: number): 'ipv4' | 'ipv6' {
  return version === 6 ? 'ipv6' : 'ipv4';
}

function notAnAddress(text: string): BerthError {
  return new BerthError('usage', `--from ${text}: not an IP address or a network`, {
    hint: 'Write an address such as 192.0.2.7, or a network such as 192.0.2.0/24.',
  });
}

/** Both kinds together, by the same conditions. */
export function filterAll(
  { sessions, pods }: SessionsAndPods,
  filter: SessionFilter,
): SessionsAndPods {
  return { sessions: filterSessions(sessions, filter), pods: filterPods(pods, filter) };
}

/** Sessions on this node, and pods on the clusters. */
export interface SessionsAndPods {
  readonly sessions: readonly Session[];
  readonly pods: readonly PodSession[];
}

/**
 * What these words name: the ID of a session, its first part (the PID of sshd in syslog), a pod (`NAMESPACE/NAME` or
 * `CLUSTER/NAMESPACE/NAME`), or a user for all of the user's sessions and pods.
 *
 * @throws {BerthError} `session-unknown` for a word that names none
 */
export function findSessions(
  { sessions, pods }: SessionsAndPods,
  words: readonly string[],
): SessionsAndPods {
  const found = words.map((word) => {
    const isId = /^[0-9]+(?:\.[0-9]+)?$/.test(word);
    const named = {
      sessions: sessions.filter(({ id, user }) =>
        isId ? id === word || id.startsWith(`${word}.`) : user === word,
      ),
      pods: pods.filter(({ cluster, namespace, name, user }) => {
        const path = `${namespace}/${name}`;
        return user === word || path === word || `${cluster}/${path}` === word;
      }),
    };
    if (named.sessions.length + named.pods.length === 0) throw unknown(word);
    return named;
  });
  return {
    sessions: sessions.filter((one) => found.some((named) => named.sessions.includes(one))),
    pods: pods.filter((one) => found.some((named) => named.pods.includes(one))),
  };
}

function unknown(word: string): BerthError {
  const [message, option] = word.includes('/')
    ? [`there is no pod ${word} of an SSH session`, ' --all-nodes']
    : [`no session on this node has the ID or the user ${word}`, ''];
  return new BerthError('session-unknown', message, {
    hint: `It may have ended. See \`berth sessions list${option}\`.`,
  });
}

/** How many ancestors are looked at: sudo, shells, tmux. */
const furthest = 64;

/** The session from which this process was started, so that an admin does not end it along with the others. */
export function ownSession(sessions: readonly Session[]): Session | undefined {
  let pid: number | undefined = process.pid;
  for (let step = 0; pid !== undefined && pid > 1 && step < furthest; step += 1) {
    const start = `${pid}.`;
    const found = sessions.find(({ id }) => id.startsWith(start));
    if (found !== undefined) return found;
    pid = parentPid(pid);
  }
  return undefined;
}
