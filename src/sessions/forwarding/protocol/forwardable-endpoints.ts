import { maxEndpoints } from './limits.ts';

/** Ports of X11 displays. Each session forwards its own display. */
const displays = { from: 6010, to: 6099 } as const;

/** Whether a port is forwarded. Ports below 1024 are reserved for root on the login node. */
export function isForwardedPort(port: number): boolean {
  return port >= 1024 && port <= 65_535 && (port < displays.from || port > displays.to);
}

/** An endpoint that listens in the pod: `tcp:PORT` on loopback, or `unix:/tmp/NAME`. */
export type Endpoint = string;

/** Names of sockets: not hidden, not in a subdirectory, and with their directory short enough for sun_path (unix(7)). */
const bridgedName = /^[A-Za-z0-9_][\w.+@-]{0,63}$/;

/** Prefixes that other programs use: ticket caches, agents, terminal multiplexers. */
const meaningful = /^(?:krb5cc|ssh-|tmux-|screen-|dbus-|systemd-|gpg-|pulse-|vscode-ipc-)/;

/** Whether a socket with this name is forwarded. */
export function isForwardedName(name: string): boolean {
  return bridgedName.test(name) && !meaningful.test(name);
}

export function endpointPort(place: Endpoint): number | undefined {
  const port = Number(/^tcp:([1-9]\d{0,4})$/.exec(place)?.[1]);
  return isForwardedPort(port) ? port : undefined;
}

/** The name of a socket directly below the pod's /tmp. On the login node it is in a directory of the user. */
export function endpointName(place: Endpoint): string | undefined {
  const name = place.startsWith('unix:/tmp/') ? place.slice('unix:/tmp/'.length) : '';
  return isForwardedName(name) ? name : undefined;
}

export function unixEndpoint(name: string): Endpoint {
  return `unix:/tmp/${name}`;
}

/**
 * The valid endpoints that the other side sent, up to the limit.
 *
 * @param reserved ports that the site reserves for its services
 */
export function parseEndpoints(said: unknown, reserved: readonly PortRange[] = []): Endpoint[] {
  if (!Array.isArray(said)) return [];
  const places = said.filter((place): place is Endpoint => {
    if (typeof place !== 'string') return false;
    const port = endpointPort(place);
    return port === undefined
      ? endpointName(place) !== undefined
      : !reserved.some(({ from, to }) => port >= from && port <= to);
  });
  return [...new Set(places)].slice(0, maxEndpoints);
}

/** Inclusive. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

/** Parses `net.ipv4.ip_local_reserved_ports`, such as `8080,9000-9010`. */
export function parsePortRanges(text: string): PortRange[] {
  return [...text.matchAll(/(\d+)(?:-(\d+))?/g)].map(([, from = '', to = from]) => ({
    from: Number(from),
    to: Number(to),
  }));
}

export interface EndpointChanges {
  readonly added: readonly Endpoint[];
  readonly removed: readonly Endpoint[];
}

export function endpointChanges(
  before: Iterable<Endpoint>,
  now: Iterable<Endpoint>,
): EndpointChanges {
  const [old, current] = [new Set(before), new Set(now)];
  return {
    added: [...current].filter((place) => !old.has(place)),
    removed: [...old].filter((place) => !current.has(place)),
  };
}
