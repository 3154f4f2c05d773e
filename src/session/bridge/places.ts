import type { TcpSocket } from './proc-net-tcp.ts';
import { listensOnLoopback } from './proc-net-tcp.ts';

/** Displays of X11 forwarding: each session sees to its own. */
const displays = { from: 6010, to: 6099 } as const;

/** More than any session has; a program that listens on thousands gets these. */
const mostPlaces = 256;

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

/** Where something listens: `tcp:PORT` of loopback, or `unix:PATH`. */
export type Place = string;

/** Sockets right below /tmp, where nobody can replace another's; other folders are of one host. */
const bridgedPath = /^\/tmp\/[\w.+@-]{1,80}$/;

function isBridgedPath(path: string): boolean {
  return bridgedPath.test(path);
}

export function portOf(place: Place): number | undefined {
  const port = Number(/^tcp:(\d{1,5})$/.exec(place)?.[1]);
  return isBridged(port) ? port : undefined;
}

export function pathOf(place: Place): string | undefined {
  const path = place.startsWith('unix:') ? place.slice(5) : '';
  return isBridgedPath(path) ? path : undefined;
}

/** Unix sockets of /proc/net/unix (proc(5)) that listen at a path. */
export function unixListeners(text: string): { readonly path: string; readonly inode: string }[] {
  // Num RefCount Protocol Flags Type St Inode Path; __SO_ACCEPTCON, SOCK_STREAM.
  const lines = text.matchAll(/^\S+ \S+ \S+ 00010000 0001 \S+ +(\d+) (\/.*)$/gm);
  return [...lines].flatMap(([, inode = '', path = '']) =>
    isBridgedPath(path) ? { path, inode } : [],
  );
}

/** Places that another half said, as far as they can be ones. */
export function saidPlaces(said: unknown): Place[] {
  if (!Array.isArray(said)) return [];
  const places = said.filter(
    (place): place is Place =>
      typeof place === 'string' && (portOf(place) ?? pathOf(place)) !== undefined,
  );
  return [...new Set(places)].slice(0, mostPlaces);
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
