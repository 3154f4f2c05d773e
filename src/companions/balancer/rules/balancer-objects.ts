import { createHash } from 'node:crypto';
import type {
  BalancerPods,
  BalancerSettings,
  SessionKind,
} from '../../../config/schema/balancer-settings.ts';
import { isIpAddress, network } from '../../../config/schema/ip-address.ts';
import { balancerDeployments, podLabels } from './balancer-deployments.ts';
import { haproxyConfig } from './haproxy-config.ts';
import type { Manifest } from '../../../kube/objects/kube-object.ts';
import { podNames, podPlacement, podPorts } from './placement.ts';

/**
 * The balancer in a cluster: etc/kubernetes/ssh-balancer has the same as a Kustomize base.
 *
 * @throws BerthError `kind-not-for-pods`
 */
export function balancerObjects(settings: BalancerSettings): Manifest[] {
  const { namespace } = settings.kubernetes;
  const data = { 'haproxy.cfg': `${haproxyConfig(settings, podPlacement(settings))}\n` };
  const config = configMapName('haproxy', data);
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: namespace,
        labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
      },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: config, namespace }, data },
    ...peerServices(settings),
    publicService(settings),
    ...balancerDeployments(settings, config),
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'ssh-balancer', namespace },
      spec: { maxUnavailable: 1, selector: { matchLabels: podLabels() } },
    },
    balancerNetworkPolicy(settings),
    ...metallbObjects(settings.kubernetes),
  ];
}

/** The fixed address of each balancer, at which the others reach it: pods come and go. */
function peerServices({ kubernetes, peersPort }: BalancerSettings): Manifest[] {
  return podNames(kubernetes.replicas).map((name) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: kubernetes.namespace },
    spec: {
      selector: podLabels(name),
      ports: [{ name: 'peers', port: peersPort, targetPort: peersPort, protocol: 'TCP' }],
    },
  }));
}

/** `Local`: haproxy sees the client's own address. MetalLB needs no node ports. */
function publicService(settings: BalancerSettings): Manifest {
  const { kinds, kubernetes, hostname } = settings;
  const ports = podPorts(settings);
  const hostnames = [...new Set([hostname, ...kinds.flatMap((kind) => kind.hostname ?? [])])].join(
    ',',
  );
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'ssh-balancer',
      namespace: kubernetes.namespace,
      annotations: {
        'external-dns.kubernetes.io/hostname': hostnames,
        'external-dns.alpha.kubernetes.io/hostname': hostnames,
        ...metallbAnnotations(kubernetes),
      },
    },
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      allocateLoadBalancerNodePorts: false,
      ipFamilyPolicy: 'PreferDualStack',
      selector: podLabels(),
      ports: kinds.map(({ name, port }) => ({
        name: `${name}-${port}`,
        port,
        targetPort: ports.get(port) ?? port,
        protocol: 'TCP',
      })),
    },
  };
}

const namespace = 'metallb-system';

/** MetalLB's pool and its announcement by ARP and NDP, if `balancer.yml` has the pool's addresses. */
function metallbObjects({ pool, addresses }: BalancerPods): Manifest[] {
  if (pool === undefined || addresses.length === 0) return [];
  const metadata = { name: pool, namespace };
  return [
    {
      apiVersion: 'metallb.io/v1beta1',
      kind: 'IPAddressPool',
      metadata,
      spec: {
        addresses: addresses.map((one) => (isIpAddress(one) ? networkOfAddress(one) : one)),
        autoAssign: false,
      },
    },
    {
      apiVersion: 'metallb.io/v1beta1',
      kind: 'L2Advertisement',
      metadata,
      spec: { ipAddressPools: [pool] },
    },
  ];
}

/**
 * The pool of the Service. No addresses beside it: MetalLB refuses them if they are not of exactly the families that the
 * cluster gives to the Service.
 */
function metallbAnnotations({ pool }: BalancerPods): Record<string, string> {
  return pool === undefined ? {} : { 'metallb.io/address-pool': pool };
}

/**
 * Anybody may connect with ssh, and the namespace of the monitoring to the statistics; the pods may connect to each other
 * and to the sshds of the nodes, and to nothing else. No rule has the port of the readiness probe, which comes from the
 * node itself: a policy always lets that in.
 */
function balancerNetworkPolicy(settings: BalancerSettings): Manifest {
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

/**
 * The name that Kustomize gives a generated ConfigMap: with other contents it is another object, so that a change of
 * the configuration makes new pods. As in sigs.k8s.io/kustomize/api/hasher.
 */
export function configMapName(name: string, data: Readonly<Record<string, string>>): string {
  const sorted = Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
  // Its hash is of an empty name. Go's encoding/json escapes these characters.
  const json = JSON.stringify({ data: sorted, kind: 'ConfigMap', name: '' }).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const letters: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };
  const digest = createHash('sha256').update(json).digest('hex').slice(0, 10);
  return `${name}-${digest.replaceAll(/[013ae]/g, (digit) => letters[digit] ?? digit)}`;
}

/** One IP address as a network: `192.0.2.1/32`. */
function networkOfAddress(address: string): string {
  return network(`${address}/${address.includes(':') ? 128 : 32}`)?.cidr ?? address;
}
