import type { V1NetworkPolicyEgressRule, V1NetworkPolicyPeer } from '@kubernetes/client-node';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { KubeJson, KubeObject } from './kube-object.ts';
import { networkPolicyName } from './well-known-names.ts';

type Peer = KubeJson<V1NetworkPolicyPeer>;
type EgressRule = KubeJson<V1NetworkPolicyEgressRule>;

/**
 * Allows ingress only from the same namespace, the site's CIDRs and the hub's namespace; egress, if it is configured, only
 * to the same namespace, to DNS, to the hub's namespace and to the site's networks.
 */
export function networkPolicy(
  namespace: string,
  {
    allowedCidrs,
    jupyterhub,
    networkEgress,
  }: Pick<ClusterSettings, 'allowedCidrs' | 'jupyterhub' | 'networkEgress'>,
): KubeObject<'NetworkPolicy'> {
  const inside: readonly Peer[] = [
    { podSelector: {} },
    ...(jupyterhub ? [{ namespaceSelector: named(jupyterhub.namespace) }] : []),
  ];
  const from = [...inside, ...allowedCidrs.map((cidr) => ({ ipBlock: { cidr } }))];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: networkPolicyName, namespace },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', ...(networkEgress ? ['Egress'] : [])],
      ingress: [{ from }],
      ...(networkEgress && {
        egress: [
          { to: inside },
          dns,
          ...networkEgress.networks.map(({ cidr, ports }): EgressRule => ({
            to: [{ ipBlock: { cidr } }],
            ...(ports && { ports: both(ports) }),
          })),
        ],
      }),
    },
  };
}

/** The pods of kube-dns or CoreDNS, as kubeadm and the distributions label them. */
const dns: EgressRule = {
  to: [
    {
      namespaceSelector: named('kube-system'),
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  ports: both([53]),
};

/** Each namespace has this label since Kubernetes 1.22. */
function named(namespace: string): Peer['namespaceSelector'] {
  return { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
}

function both(ports: readonly number[]): EgressRule['ports'] {
  return ports.flatMap((port) => [
    { port, protocol: 'TCP' },
    { port, protocol: 'UDP' },
  ]);
}
