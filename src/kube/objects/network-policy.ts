import type { V1NetworkPolicyPeer } from '@kubernetes/client-node';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { KubeJson, KubeObject } from './kube-object.ts';
import { networkPolicyName } from './well-known-names.ts';

type Peer = KubeJson<V1NetworkPolicyPeer>;

/** Allows ingress only from the same namespace, the site's CIDRs and the hub's namespace. */
export function networkPolicy(
  namespace: string,
  { allowedCidrs, jupyterhub }: Pick<ClusterSettings, 'allowedCidrs' | 'jupyterhub'>,
): KubeObject<'NetworkPolicy'> {
  const from: readonly Peer[] = [
    { podSelector: {} },
    ...allowedCidrs.map((cidr) => ({ ipBlock: { cidr } })),
    ...(jupyterhub ? [podsOf(jupyterhub.namespace)] : []),
  ];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: networkPolicyName, namespace },
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from }] },
  };
}

/** All pods of a namespace, which has this label of its name since Kubernetes 1.22. */
function podsOf(namespace: string): Peer {
  return { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
}
