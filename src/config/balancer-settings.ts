import { installedPath } from '../installed-path.ts';
import { type BalancerDocument, balancerSchema } from './balancer-yml.ts';
import { balancerProblems } from './balancer-problems.ts';
import { configProblemsError } from './config-error.ts';
import { type Locate, noPosition, type ProblemMessage } from './config-problem.ts';
import { deepFreeze } from './deep-freeze.ts';
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
  if (!parsed.success) throw invalid(source, schemaMessages(parsed.error, balancerSchema, []));
  const problems = [...balancerProblems(parsed.data)];
  if (problems.length > 0) throw invalid(source, problems);
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
      ...{ name: kind.name, system: kind.system, nodes: nodes.get(kind.system) ?? [] },
      ...(kind.hostname === undefined ? {} : { hostname: kind.hostname }),
      ...{ port: kind.port, nodePort: kind.node_port ?? kind.port },
      together: kind.together ?? false,
      clientAddress: kind.client_address ?? 'log',
      maxConnections: kind.max_connections ?? 2000,
    })),
    statistics: { address: statistics.address ?? '127.0.0.1', port: statistics.port ?? 8404 },
    sourceLimits: {
      ...{ connections: limits.connections ?? 200, rate: limits.rate ?? 100 },
      exempt: limits.exempt ?? [],
    },
    kubernetes: {
      namespace: kubernetes.namespace ?? 'ssh-balancer',
      replicas: kubernetes.replicas ?? 2,
      image: kubernetes.image ?? 'docker.io/library/haproxy:2.6',
      monitoringNamespace: kubernetes.monitoring_namespace ?? 'monitoring',
      ...(kubernetes.pool === undefined ? {} : { pool: kubernetes.pool }),
      addresses: kubernetes.addresses ?? [],
    },
  };
}

function invalid(
  source: { readonly file: string; readonly place: Locate },
  problems: readonly ProblemMessage[],
): Error {
  const hint = `${installedPath('share/etc/berth/balancer.yml.example')} shows every key.`;
  return configProblemsError('balancer-yml-invalid', source, problems, hint);
}
