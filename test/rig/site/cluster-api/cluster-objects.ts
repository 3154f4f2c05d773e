import type { Site } from '../site.ts';

interface Argument {
  readonly name: string;
  readonly value: string;
}

/** A Cluster and its control plane as Cluster API has them once the control plane runs. */
export function capiObjects(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  extraArgs: readonly Argument[] = [{ name: 'v', value: '2' }],
): readonly object[] {
  const controlPlane = {
    apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmControlPlane',
    metadata: { name: `${name}-cp`, namespace },
    spec: {
      version: 'v1.36.0',
      machineTemplate: {
        spec: {
          infrastructureRef: {
            ...{ apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackMachineTemplate' },
            name,
          },
        },
      },
      kubeadmConfigSpec: { clusterConfiguration: { apiServer: { extraArgs } } },
    },
  };
  const cluster = {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name, namespace },
    spec: {
      controlPlaneEndpoint: { host: '127.0.0.1', port: 6443 },
      controlPlaneRef: {
        ...{ apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane' },
        name: `${name}-cp`,
      },
    },
  };
  return [controlPlane, cluster];
}

/** The Secret with an admin's kubeconfig of the Cluster, as JSON. */
export function capiSecret(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  kubeconfig: string,
): string {
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'cluster.x-k8s.io/secret' },
    metadata: { name: `${name}-kubeconfig`, namespace },
    stringData: { value: kubeconfig },
  });
}

/** kube-apiserver's arguments for tokens of the site's identity provider. */
export function oidcArguments({ keycloak }: Site): readonly Argument[] {
  return Object.entries({
    'oidc-issuer-url': keycloak.issuer,
    'oidc-client-id': keycloak.client('kubernetes').id,
    'oidc-username-claim': 'preferred_username',
    'oidc-username-prefix': 'oidc:',
  }).map(([name, value]) => ({ name, value }));
}
