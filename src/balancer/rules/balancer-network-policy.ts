import type { BalancerSettings, SessionKind } from '../../config/balancer-settings.ts';
import { networkOfAddress } from '../../config/cidr.ts';
import { isIpAddress } from '../../config/ip-address.ts';
import { podLabels } from './balancer-deployments.ts';
import type { Manifest } from './manifest.ts';
import { podPorts } from './pod-placement.ts';

/**
 * Anybody may connect with ssh, and the namespace of the monitoring to the statistics; the pods may connect to each other
 * and to the sshds of the nodes, and to nothing else. No rule has the port of the readiness probe, which comes from the
 * node itself: a policy always lets that in.
 */
export function balancerNetworkPolicy(settings: BalancerSettings): Manifest {
  const { kinds, kubernetes, peersPort, statistics } = settings;
  const balancers = [{ podSelector: { matchLabels: podLabels() } }];
  const namespace = { 'kubernetes.io/metadata.name': kubernetes.monitoringNamespace };
  const monitoring = [{ namespaceSelector: { matchLabels: namespace } }];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'ssh-balancer', namespace: kubernetes.namespace },
    spec: {
      podSelector: { matchLabels: podLabels() },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { ports: tcp([...podPorts(settings).values()]) },
        { from: balancers, ports: tcp([peersPort]) },
        { from: monitoring, ports: tcp([statistics.port]) },
      ],
      egress: [
        { to: balancers, ports: tcp([peersPort]) },
        ...[...Map.groupBy(kinds, ({ system }) => system).values()].map(toNodes),
        ...(kinds.some(hasNames) ? [{ ports: [...tcp([53]), { protocol: 'UDP', port: 53 }] }] : []),
      ],
    },
  };
}

/** A policy knows no host names: where there are some, the port alone limits the connections. */
function toNodes(kinds: readonly SessionKind[]): object {
  const [kind] = kinds;
  const ports = tcp([...new Set(kinds.map(({ nodePort }) => nodePort))]);
  if (kind === undefined || hasNames(kind)) return { ports };
  const to = kind.nodes.map(({ address }) => ({ ipBlock: { cidr: networkOfAddress(address) } }));
  return { to, ports };
}

function hasNames({ nodes }: SessionKind): boolean {
  return nodes.some(({ address }) => !isIpAddress(address));
}

function tcp(ports: readonly number[]): object[] {
  return ports.map((port) => ({ protocol: 'TCP', port }));
}
