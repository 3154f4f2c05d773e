import type { BalancerSettings } from '../../config/balancer-settings.ts';
import { balancerDeployments, podLabels } from './balancer-deployments.ts';
import { configMapName } from './config-map-name.ts';
import { haproxyConfig } from './haproxy-config.ts';
import { balancerNetworkPolicy } from './balancer-network-policy.ts';
import type { Manifest } from './manifest.ts';
import { metallbObjects, metallbAnnotations } from './metallb-objects.ts';
import { podNames, podPlacement, podPorts } from './pod-placement.ts';

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
        ...{ name: `${name}-${port}`, port, targetPort: ports.get(port) ?? port, protocol: 'TCP' },
      })),
    },
  };
}
