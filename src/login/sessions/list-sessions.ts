import type { Backend } from '../../config/schema/profile/profile.ts';
import { clientsInLog } from '../../sessions/connections/balancer-log.ts';
import {
  type ConnectionRecord,
  parseConnectionId,
  readConnectionRecord,
} from '../../sessions/connections/connection-record.ts';
import { openConnections } from '../../sessions/connections/open-connections.ts';
import { connectionRecordPath, connectionsDir } from '../../sessions/connections/state-paths.ts';
import { directoryNames } from '../../system/if-present.ts';
import { userManagerUnit } from '../../system/process-unit.ts';
import { pidsByUid } from '../../system/processes.ts';
import { runProgram } from '../../system/run-program.ts';
import {
  tcpConnections,
  type TcpConnection,
  tcpConnectionsOf,
} from '../../system/tcp-connection.ts';
import { type Endpoint, endpointText } from '../../system/tcp-table.ts';
import {
  type ConnectionOwner,
  type ConnectionUsage,
  connectionUsages,
  type WithoutTerminal,
} from './session-processes.ts';

/** An open SSH connection of a user, with what it runs and uses. */
export interface Session {
  /** `PID.STARTTIME` of sshd's monitor process, as in syslog. */
  readonly id: string;
  readonly user: string;
  readonly uid: number;
  /** Of its newest session. undefined if that is no profile (a shell on the host), or it could not be determined. */
  readonly profile: string | undefined;
  /** Of all its sessions, the newest first: a client may ask for several over one connection. */
  readonly profiles: readonly string[];
  readonly backend: Backend | 'host' | undefined;
  /** Name of the container or the pod that belongs to the profile. */
  readonly name: string | undefined;
  /** Name of another container of Berth that its processes say they are in; users can make them say so. */
  readonly claimedName: string | undefined;
  /** Seconds since the epoch. */
  readonly opened: number;
  /** Seconds since the last input at its terminals, at least since its client sent data; undefined without a terminal. */
  readonly idleSeconds: number | undefined;
  /** Where the client is: the balancer's log, if it has the connection, else the peer of sshd. */
  readonly from: string;
  /** The balancer's end of the connection, if the client's address is from its log. */
  readonly via: Endpoint | undefined;
  /** The other end of sshd's TCP connection; undefined in a record of an earlier version. */
  readonly peer: Endpoint | undefined;
  /** sshd's own end. */
  readonly local: Endpoint | undefined;
  /** The systemd unit of the sshd that accepted it. */
  readonly unit: string | undefined;
  /** Paths of its terminals on this host. */
  readonly terminals: readonly string[];
  readonly withoutTerminal: readonly WithoutTerminal[];
  readonly processes: number;
  /** CPU time of its running processes. */
  readonly cpuSeconds: number;
  /** Resident memory of its processes. */
  readonly memoryBytes: number;
}

export interface ListSessionsInput {
  /** `/run/berth` */
  readonly run: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Contents of the balancer's log, to look for the addresses of clients. Called if there is one to look for. */
  readonly balancerLog: () => string;
  /** Called with what could not be found out, and what to do next. */
  readonly warn: (text: string) => void;
  /** Path of `berth`. */
  readonly program: string;
}

/** Bytes of the kernel's lists of TCP connections: of about 450,000, in some seconds. */
const mostOfTcpLists = 64 * 1024 * 1024;

const tooManySockets =
  'warning: this host has too many TCP connections to look up those of sshd, so FROM may be the address of a balancer\n' +
  "next: search the balancer's log for the `source_port` that `ss -tnp` shows as the port of sshd's peer\n";

const looksLate =
  'warning: what sessions run is not shown, because a process of a user kept whoever looked at it waiting\n' +
  'next: `berth reap` names the user, and aborts FUSE file systems that do not answer\n';

/** How long a look at all processes may take. Milliseconds. */
const looksMs = 10_000;

type UsagesById = Readonly<Record<string, ConnectionUsage>>;

const noUsage: ConnectionUsage = {
  processes: 0,
  cpuSeconds: 0,
  memoryBytes: 0,
  containers: [],
  terminals: [],
  withoutTerminal: [],
  lastInput: undefined,
  sshd: [],
  isClosing: false,
};

/** What each open connection of this host runs. A user's process can keep whoever looks at it waiting (`pidsByUid`). */
export function usagesById(run: string): UsagesById {
  const usages = connectionUsages(openConnectionsOfAll(run));
  return Object.fromEntries([...usages].map(([{ id }, usage]) => [id, usage]));
}

/** The same, looked up by another process, which is killed when it takes too long. */
async function usagesInTime(program: string, warn: ListSessionsInput['warn']): Promise<UsagesById> {
  const words = ['sessions', 'list', '--quiet', '--usages'];
  const { stdout, error } = await runProgram(program, words, {
    timeoutMs: looksMs,
    killSignal: 'SIGKILL',
    maxBuffer: Infinity,
  });
  if (error === undefined) return JSON.parse(stdout) as UsagesById;
  warn(looksLate);
  return {};
}

interface OpenConnection extends ConnectionOwner {
  readonly id: string;
  readonly record: ConnectionRecord;
}

/**
 * The open SSH connections of this host: those that PAM recorded, whose sshd still runs and does not close them. Only for root: what others run
 * is not for everybody, and root's files and the kernel are all that is read.
 *
 * @returns the oldest first
 */
export async function listSessions(input: ListSessionsInput): Promise<readonly Session[]> {
  const { run, now, balancerLog, warn, program } = input;
  const connections = openConnectionsOfAll(run);
  const usages = connections.length === 0 ? {} : await usagesInTime(program, warn);
  const clientOf = clients(balancerLog);
  // The hook has looked it up where addresses matter.
  const monitors = connections.flatMap(({ monitor, record }) =>
    record.peer === undefined ? monitor.pid : [],
  );
  const { connections: ends, complete } = tcpConnectionsOf(monitors, { mostBytes: mostOfTcpLists });
  if (!complete) warn(tooManySockets);
  const placed = connections.map((one) => ({
    ...one,
    record: { ...one.record, ...(complete ? ends.get(one.monitor.pid) : {}) },
  }));
  const received = lastReceived(placed.map(({ record }) => record));
  return placed
    .flatMap((connection) => {
      const { [connection.id]: usage = noUsage } = usages;
      return usage.isClosing
        ? []
        : [
            sessionOf(connection, usage, {
              now: now(),
              client: clientOf(connection.record),
              sinceReceivedMs: received(connection.record),
            }),
          ];
    })
    .toSorted((a, b) => a.opened - b.opened || (a.id < b.id ? -1 : 1));
}

function openConnectionsOfAll(run: string): readonly OpenConnection[] {
  return directoryNames(connectionsDir({ run })).flatMap((name) => {
    return /^[1-9][0-9]*$/.test(name) ? openConnectionsOf(run, Number(name)) : [];
  });
}

/** A user's open connections. @param run `/run/berth` */
export function openConnectionsOf(run: string, uid: number): readonly OpenConnection[] {
  return [...openConnections({ run }, uid)].flatMap((id) => {
    const monitor = parseConnectionId(id);
    const record = readConnectionRecord(connectionRecordPath({ run }, uid, id));
    if (monitor === undefined || record === undefined) return [];
    return [{ id, uid, monitor, record, session: record.session }];
  });
}

function sessionOf(
  { id, uid, record }: OpenConnection,
  usage: ConnectionUsage,
  {
    now,
    client,
    sinceReceivedMs,
  }: {
    readonly now: number;
    readonly client: Endpoint | undefined;
    readonly sinceReceivedMs: number;
  },
): Session {
  const { user, opened, peer, local, unit, rhost } = record;
  const { containers, terminals, withoutTerminal, lastInput } = usage;
  const { processes, cpuSeconds, memoryBytes } = usage;
  return {
    id,
    user,
    uid,
    opened,
    peer,
    local,
    unit,
    terminals,
    withoutTerminal,
    processes,
    cpuSeconds,
    memoryBytes,
    claimedName: containers[0],
    profile: undefined,
    profiles: [],
    backend: undefined,
    name: undefined,
    idleSeconds:
      lastInput === undefined
        ? undefined
        : Math.floor(Math.max(now - lastInput, sinceReceivedMs) / 1000),
    from: client?.address ?? peer?.address ?? rhost,
    via: client === undefined ? undefined : peer,
  };
}

/**
 * How long nothing has come from the client: nothing was typed meanwhile either, whatever the terminal's time of access says,
 * which its user can set.
 *
 * @returns given a record, milliseconds; 0 if the kernel does not say
 */
function lastReceived(records: readonly ConnectionRecord[]): (record: ConnectionRecord) => number {
  const ports = new Set(records.flatMap(({ local }) => local?.port ?? []));
  const [, ...filter] = [...ports].flatMap((port) => ['or', 'sport', '=', `:${port}`]);
  const found = ports.size === 0 ? [] : (tcpConnections(filter) ?? []);
  const since = new Map(found.map((one) => [endsText(one), one.sinceReceivedMs]));
  return ({ local, peer }) =>
    local === undefined || peer === undefined ? 0 : (since.get(endsText({ local, peer })) ?? 0);
}

function endsText({ local, peer }: TcpConnection): string {
  return `${endpointText(local)} ${endpointText(peer)}`;
}

/** Looks for the client first where it was found when the connection was opened, then in the log. */
function clients(readLog: () => string): (record: ConnectionRecord) => Endpoint | undefined {
  let inLog: ReturnType<typeof clientsInLog> | undefined;
  return ({ client, peer, local, opened }) => {
    if (client !== undefined || peer === undefined || local === undefined) return client;
    inLog ??= clientsInLog(readLog());
    return inLog({ peer, local }, opened);
  };
}

/** A service that systemd's manager of a user (user@UID.service) runs on this host, outside of every session. */
export interface UserService {
  readonly uid: number;
  readonly unit: string;
  readonly processes: number;
}

/** Podman's bus: etc/systemd/user-manager. */
const ownUnits = new Set(['dbus.service', 'dbus-broker.service']);

/**
 * The services of users' managers. Containers and sessions are in scopes, which whoever asks for one fills with processes of
 * its own; the processes of a service are started by the manager.
 */
export function userServices(): readonly UserService[] {
  const found = new Map<string, UserService>();
  for (const [uid, pids] of pidsByUid())
    for (const pid of uid === 0 ? [] : pids) {
      const unit = userManagerUnit(pid, uid);
      if (unit?.endsWith('.service') !== true || ownUnits.has(unit)) continue;
      const key = `${uid} ${unit}`;
      const processes = (found.get(key)?.processes ?? 0) + 1;
      found.set(key, { uid, unit, processes });
    }
  return [...found.values()];
}
