import { mostPlaces } from './limits.ts';
import type { TcpSocket } from './proc-net-tcp.ts';
import { listensOnLoopback } from './proc-net-tcp.ts';

/** Displays of X11 forwarding: each session sees to its own. */
const displays = { from: 6010, to: 6099 } as const;

/** Whether a port is one that the bridge carries: those below are root's on the login node. */
export function isBridged(port: number): boolean {
  return port >= 1024 && port <= 65_535 && (port < displays.from || port > displays.to);
}

/** Sockets of a user that listen on loopback, which may be sshd's for a `-R`. */
export function ownListeners(sockets: readonly TcpSocket[], uid: number): TcpSocket[] {
  return sockets.filter(
    (socket) => socket.uid === uid && listensOnLoopback(socket) && isBridged(socket.local.port),
  );
}

/** Where something listens in the pod: `tcp:PORT` of loopback, or `unix:/tmp/NAME`. */
export type Place = string;

/** Of a socket: nothing hidden, no folder, and with the folder before it within sun_path (unix(7)). */
const bridgedName = /^[A-Za-z0-9_][\w.+@-]{0,63}$/;

/** To these names other programs give a meaning: a cache of tickets, an agent, a terminal. */
const meaningful = /^(?:krb5cc|ssh-|tmux-|screen-|dbus-|systemd-|gpg-|pulse-|vscode-ipc-)/;

/** Whether a socket of that name leads from the login node to the pod, or back. */
export function isBridgedName(name: string): boolean {
  return bridgedName.test(name) && !meaningful.test(name);
}

export function portOf(place: Place): number | undefined {
  const port = Number(/^tcp:([1-9]\d{0,4})$/.exec(place)?.[1]);
  return isBridged(port) ? port : undefined;
}

/** The name of a socket right below the pod's /tmp. On the login node it is in a folder of the user's own. */
export function nameOf(place: Place): string | undefined {
  const name = place.startsWith('unix:/tmp/') ? place.slice('unix:/tmp/'.length) : '';
  return isBridgedName(name) ? name : undefined;
}

export function placeOfName(name: string): Place {
  return `unix:/tmp/${name}`;
}

/**
 * The first places that another half said, as far as they can be ones.
 *
 * @param reserved Ports that the site keeps for its services.
 */
export function saidPlaces(said: unknown, reserved: readonly PortRange[] = []): Place[] {
  if (!Array.isArray(said)) return [];
  const places = said.filter((place): place is Place => {
    if (typeof place !== 'string') return false;
    const port = portOf(place);
    return port === undefined ? nameOf(place) !== undefined : !isReserved(port, reserved);
  });
  return [...new Set(places)].slice(0, mostPlaces);
}

/** Both ends belong to it. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

function isReserved(port: number, reserved: readonly PortRange[]): boolean {
  return reserved.some(({ from, to }) => port >= from && port <= to);
}

/** Ranges as `net.ipv4.ip_local_reserved_ports` has them: `8080,9000-9010`. */
export function portRanges(text: string): PortRange[] {
  return [...text.matchAll(/(\d+)(?:-(\d+))?/g)].map(([, from = '', to = from]) => ({
    from: Number(from),
    to: Number(to),
  }));
}

export interface PlaceChanges {
  readonly added: readonly Place[];
  readonly removed: readonly Place[];
}

export function placeChanges(before: Iterable<Place>, now: Iterable<Place>): PlaceChanges {
  const [old, current] = [new Set(before), new Set(now)];
  return {
    added: [...current].filter((place) => !old.has(place)),
    removed: [...old].filter((place) => !current.has(place)),
  };
}
