import type { BalancerPods, BalancerSettings } from '../../../config/schema/balancer-settings.ts';
import { isIpv6 } from '../../../config/schema/ip-address.ts';
import { hostPort } from '../../../config/schema/host-name.ts';
import { nearestKey } from '../../../config/schema/nearest-key.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import type { Placement } from './haproxy-config.ts';

/**
 * haproxy as a service of a host.
 *
 * @param balancer this host's name in `balancers`. Without it haproxy takes the name of the host that it runs on.
 * @throws BerthError `balancer-unknown`
 */
export function hostPlacement(settings: BalancerSettings, balancer: string | undefined): Placement {
  const { balancers, peersPort, listen, statistics, kinds } = settings;
  if (balancer !== undefined && !balancers.some(({ name }) => name === balancer)) {
    const names = balancers.map(({ name }) => name).join(', ');
    throw new BerthError(
      'balancer-unknown',
      `there is no balancer ${balancer}; there are: ${names || 'none'}`,
    );
  }
  const [only] = balancers;
  const self = balancer ?? (balancers.length > 1 ? undefined : (only?.name ?? 'local'));
  return {
    global: [
      '# No chroot: /dev/log would be missing there.',
      'log /dev/log local0 info',
      ...(kinds.some(({ clientAddress }) => clientAddress === 'transparent')
        ? ["# As root: haproxy 2.6 cannot take a client's address as another user."]
        : ['user haproxy', 'group haproxy']),
      'stats socket /run/haproxy.sock mode 600 level admin expose-fd listeners',
      ...(self === undefined
        ? [
            '# localpeer is not set: the names below are those of the hosts (hostname), or of haproxy -L.',
          ]
        : [`localpeer ${self}`]),
    ],
    peers:
      balancers.length === 0
        ? [`local ${hostPort('127.0.0.1', peersPort)}`]
        : balancers.map(({ name, address }) => `${name} ${hostPort(address, peersPort)}`),
    listen,
    portOf: (port) => port,
    statistics: [statistics.address],
  };
}

/**
 * The settings of a balancer for one kind of sessions, of each system that has it. Its name is the kind's own, if it
 * has one.
 *
 * @throws BerthError `kind-unknown`
 */
export function onlyKind(settings: BalancerSettings, name: string): BalancerSettings {
  const kinds = settings.kinds.filter((kind) => kind.name === name);
  const [first] = kinds;
  if (first !== undefined)
    return {
      ...settings,
      kinds,
      hostname: first.hostname ?? settings.hostname,
      kubernetes: ownNamespace(settings.kubernetes, name),
    };
  const known = [...new Set(settings.kinds.map((kind) => kind.name))];
  const near = nearestKey(name, known);
  throw new BerthError(
    'kind-unknown',
    `--kind ${name}: balancer.yml has no such kind of sessions; it has: ${known.join(', ')}`,
    {
      hint: near && `Did you mean ${near}?`,
    },
  );
}

/** A balancer of its own has an address of its own, which MetalLB chooses from the pool. */
function ownNamespace(pods: BalancerPods, kind: string): BalancerPods {
  return { ...pods, namespace: `${pods.namespace}-${kind}` };
}

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
      'kind-not-for-pods',
      `kind ${transparent.name} of system ${transparent.system} has client_address: transparent, which pods cannot do`,
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
