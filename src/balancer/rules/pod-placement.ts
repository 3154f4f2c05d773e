import type { BalancerSettings } from '../../config/schema/balancer-settings.ts';
import { isIpv6 } from '../../config/schema/ip-address.ts';
import { BerthError } from '../../errors/berth-error.ts';
import type { Placement } from './haproxy-config.ts';

/**
 * haproxy in pods, as any user and without capabilities. Its ports are 1024 or above, and the peers' addresses are
 * variables: each pod knows its own address, and the others by their Services.
 *
 * @throws BerthError `kind-not-for-pods`
 */
export function podPlacement(settings: BalancerSettings): Placement {
  const { kinds, listen, kubernetes } = settings;
  const transparent = kinds.find(({ clientAddress }) => clientAddress === 'transparent');
  if (transparent !== undefined)
    throw new BerthError(
      `kind ${transparent.name} of system ${transparent.system} has client_address: transparent, which pods cannot do`,
      { code: 'kind-not-for-pods' },
    );
  const ports = podPorts(settings);
  const families = listen.some(isIpv6) ? ['0.0.0.0', '::'] : ['0.0.0.0'];
  return {
    global: ['log stdout format raw local0 info'],
    peers: podNames(kubernetes.replicas).map((name, index) => `${name} "\${PEER_${index + 1}}"`),
    listen: families,
    portOf: (port) => ports.get(port) ?? port,
    statistics: families,
    healthPort: podHealthPort(settings),
  };
}

/** One Deployment each, so that a new pod of a balancer starts while the old one still serves its sessions. */
export function podNames(replicas: number): string[] {
  return Array.from({ length: replicas }, (_, index) => `ssh-balancer-${index + 1}`);
}

/** The port of the readiness probe, after that of the statistics: no other pod may connect to it. */
export function podHealthPort(settings: BalancerSettings): number {
  const taken = [settings.peersPort, ...podPorts(settings).values()];
  let port = settings.statistics.port === 65_535 ? 8405 : settings.statistics.port + 1;
  while (taken.includes(port)) port += 1;
  return port;
}

/** By port of a kind, the port in the pod: the same, or for one below 1024 that number and 10000. */
export function podPorts({
  kinds,
  peersPort,
  statistics,
}: Pick<BalancerSettings, 'kinds' | 'peersPort' | 'statistics'>): ReadonlyMap<number, number> {
  const taken = new Set([peersPort, statistics.port, ...kinds.map(({ port }) => port)]);
  const ports = new Map<number, number>();
  for (const { port } of kinds) {
    let inside = port < 1024 ? port + 10_000 : port;
    while (inside !== port && taken.has(inside)) inside += 1;
    taken.add(inside);
    ports.set(port, inside);
  }
  return ports;
}
