import { type BalancerDocument, balancerSchema } from './balancer-yml.ts';
import {
  configProblemsError,
  type Locate,
  noPosition,
  type ProblemMessage,
  writtenPath,
} from './config-error.ts';
import { deepFreeze } from './deep-freeze.ts';
import { nearestKey } from './nearest-key.ts';
import { schemaMessages } from './schema-messages.ts';

/** One name in front, many login nodes behind. */
export interface BalancerSettings {
  /** What users type. */
  readonly hostname: string;
  /** Addresses of the balancer's ports; `0.0.0.0` and `::` are all addresses of the host. */
  readonly listen: readonly string[];
  /** Hosts that run haproxy; empty if there are only pods. */
  readonly balancers: readonly BalancerHost[];
  /** TCP port on which balancers tell each other who is on which node. */
  readonly peersPort: number;
  readonly kinds: readonly SessionKind[];
  readonly statistics: { readonly address: string; readonly port: number };
  readonly sourceLimits: SourceLimits;
  readonly kubernetes: BalancerPods;
}

/** What one client address, or IPv6 network of 64 bits, may use of one balancer. */
export interface SourceLimits {
  /** Connections at a time, over all kinds; 0: no limit. */
  readonly connections: number;
  /** New connections within 10 seconds; 0: no limit. */
  readonly rate: number;
  /** Addresses and CIDRs without these limits. */
  readonly exempt: readonly string[];
}

export interface BalancerHost {
  readonly name: string;
  readonly address: string;
}

/** A kind of session: one port of the balancer, and the same sshd on each node of a system. */
export interface SessionKind {
  /** NAME of `berth-sshd@NAME`. */
  readonly name: string;
  readonly system: string;
  readonly nodes: readonly LoginNode[];
  /** Name of this kind's own, if it has one. */
  readonly hostname?: string;
  /** What users connect to. */
  readonly port: number;
  /** sshd's port on the nodes. */
  readonly nodePort: number;
  /** All connections from one address reach the same node. */
  readonly together: boolean;
  /** How sessions know the client's address: the balancer's log, or the connection itself. */
  readonly clientAddress: 'log' | 'transparent';
  /** Connections of one balancer at a time. */
  readonly maxConnections: number;
}

export interface LoginNode {
  readonly name: string;
  /** IPv4, IPv6 or host name. */
  readonly address: string;
}

/** What only the rendering for Kubernetes needs. */
export interface BalancerPods {
  readonly namespace: string;
  readonly replicas: number;
  readonly image: string;
  /** Namespace whose pods may read the statistics. */
  readonly monitoringNamespace: string;
  /** MetalLB's pool; without it, the cluster's load balancer chooses the address. */
  readonly pool?: string;
  /** Addresses of the pool, if Berth is to make it. */
  readonly addresses: readonly string[];
}

/**
 * Checks a parsed `balancer.yml`. `etc/berth/balancer.yml.example` has the default of each key.
 *
 * @throws BerthError `balancer-yml-invalid`, with the path, line and column of each problem; exit 78
 */
export function parseBalancerSettings(
  document: unknown,
  file: string,
  place: Locate = noPosition,
): BalancerSettings {
  const source = { file, place };
  const parsed = balancerSchema.safeParse(document ?? {}, { reportInput: true });
  if (!parsed.success)
    throw configProblemsError(
      'balancer-yml-invalid',
      source,
      schemaMessages(parsed.error, balancerSchema, []),
    );
  const problems = [...balancerProblems(parsed.data)];
  if (problems.length > 0) throw configProblemsError('balancer-yml-invalid', source, problems);
  return deepFreeze(settingsOf(parsed.data));
}

function settingsOf(document: BalancerDocument): BalancerSettings {
  const { statistics = {}, kubernetes = {}, source_limits: limits = {} } = document;
  const nodes = new Map(document.systems.map((system) => [system.name, system.nodes]));
  return {
    hostname: document.hostname,
    listen: document.listen ?? ['0.0.0.0', '::'],
    balancers: document.balancers ?? [],
    peersPort: document.peers_port ?? 1024,
    kinds: document.kinds.map((kind) => ({
      name: kind.name,
      system: kind.system,
      nodes: nodes.get(kind.system) ?? [],
      hostname: kind.hostname,
      port: kind.port,
      nodePort: kind.node_port ?? kind.port,
      together: kind.together ?? false,
      clientAddress: kind.client_address ?? 'log',
      maxConnections: kind.max_connections ?? 2000,
    })),
    statistics: { address: statistics.address ?? '127.0.0.1', port: statistics.port ?? 8404 },
    sourceLimits: {
      connections: limits.connections ?? 200,
      rate: limits.rate ?? 100,
      exempt: limits.exempt ?? [],
    },
    kubernetes: {
      namespace: kubernetes.namespace ?? 'ssh-balancer',
      replicas: kubernetes.replicas ?? 2,
      image: kubernetes.image ?? 'docker.io/library/haproxy:2.6',
      monitoringNamespace: kubernetes.monitoring_namespace ?? 'monitoring',
      pool: kubernetes.pool,
      addresses: kubernetes.addresses ?? [],
    },
  };
}

type Path = readonly (string | number)[];
interface Placed {
  readonly path: Path;
  readonly value: string;
}

/** What the schema cannot see: names, addresses and ports that are there twice, and systems that are not there. */
function* balancerProblems(document: BalancerDocument): Generator<ProblemMessage> {
  const { balancers = [], systems, kinds } = document;
  yield* twice(column(balancers, ['balancers'], 'name'), 'the name');
  yield* twice(column(balancers, ['balancers'], 'address'), 'the address');
  yield* twice(column(systems, ['systems'], 'name'), 'the name');
  for (const [index, { nodes }] of systems.entries()) {
    const path = ['systems', index, 'nodes'];
    yield* twice(column(nodes, path, 'name'), 'the name');
    yield* twice(column(nodes, path, 'address'), 'the address');
  }
  yield* twice(
    kinds.map(({ name, system }, index) => ({
      path: ['kinds', index, 'name'],
      value: `${name} of system ${system}`,
    })),
    'the kind',
  );
  yield* unknownSystems(document);
  yield* takenPorts(document);
  yield* poolWithoutName(document);
}

function column<K extends string>(
  entries: readonly Readonly<Record<K, string>>[],
  path: Path,
  key: K,
): Placed[] {
  return entries.map((entry, index) => ({ path: [...path, index, key], value: entry[key] }));
}

/** IPv6 addresses and host names are equal in any case. */
function* twice(values: readonly Placed[], what: string): Generator<ProblemMessage> {
  const first = new Map<string, Path>();
  for (const { path, value } of values) {
    const key = value.toLowerCase();
    const before = first.get(key);
    if (before === undefined) first.set(key, path);
    else
      yield {
        path,
        text: `${writtenPath(path)}: ${what} ${value} is already used by ${writtenPath(before)}`,
      };
  }
}

function* unknownSystems({ systems, kinds }: BalancerDocument): Generator<ProblemMessage> {
  const known = systems.map(({ name }) => name);
  for (const [index, { system }] of kinds.entries()) {
    if (known.includes(system)) continue;
    const path = ['kinds', index, 'system'];
    const near = nearestKey(system, known);
    const help = near === undefined ? `there are: ${known.join(', ')}` : `did you mean ${near}?`;
    yield { path, text: `${writtenPath(path)}: there is no system ${system} in systems: ${help}` };
  }
}

/** Each port of a balancer is one listener. */
function* takenPorts({
  kinds,
  peers_port: peers,
  statistics,
}: BalancerDocument): Generator<ProblemMessage> {
  const ports: [Path, number | undefined, number][] = [
    ...kinds.map(({ port }, index): [Path, number, number] => [['kinds', index, 'port'], port, 0]),
    [['peers_port'], peers, 1024],
    [['statistics', 'port'], statistics?.port, 8404],
  ];
  const first = new Map<number, string>();
  for (const [path, given, standard] of ports) {
    const port = given ?? standard;
    const name = given === undefined ? `${writtenPath(path)} (default)` : writtenPath(path);
    const before = first.get(port);
    if (before === undefined) first.set(port, name);
    else yield { path, text: `${name}: port ${port} is already used by ${before}` };
  }
}

function* poolWithoutName({ kubernetes }: BalancerDocument): Generator<ProblemMessage> {
  if (kubernetes?.addresses === undefined || kubernetes.pool !== undefined) return;
  const path = ['kubernetes', 'addresses'];
  yield {
    path,
    text: 'kubernetes.addresses needs kubernetes.pool: the name of the pool that Berth makes of these addresses',
  };
}
