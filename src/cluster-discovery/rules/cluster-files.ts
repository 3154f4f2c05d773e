import { parseDocument } from 'yaml';
import type { KeyValues } from '../../config/berth-yml-edit.ts';
import type { ManagementAccess } from '../../config/settings.ts';
import type { CapiCluster } from './capi-objects.ts';
import type { OidcArguments } from './oidc-arguments.ts';

/** A cluster with what a portal needs of it. */
export interface DiscoveredCluster {
  readonly cluster: CapiCluster;
  /** OnDemand's name: the file in clusters.d without `.yml`. */
  readonly name: string;
  /** URL of the API server. */
  readonly endpoint: string;
  /** PEM. */
  readonly ca: string;
  readonly oidc?: OidcArguments;
}

const mark = '# Made by `berth clusters discover` from the Cluster ';

/**
 * OnDemand's file of a cluster. In a present one only the address, the CA and the way of authentication change.
 *
 * @param caFile path of the CA's PEM file
 */
export function clusterFileText(
  { cluster, name, endpoint, oidc }: DiscoveredCluster,
  caFile: string,
  present?: string,
): string {
  const document = parseDocument(
    present ??
      `${mark}${cluster.namespace}/${cluster.name}.
# You may edit it: a further run changes only \`server\` and \`auth\`, and removes the file when the Cluster is gone.
v2:
  metadata:
    title: ${name}
  job:
    adapter: kubernetes
    cluster: ${name}
    context: ${name}
    bin: /usr/bin/kubectl
`,
  );
  // Without OIDC, Berth writes tokens of a ServiceAccount.
  document.setIn(['v2', 'job', 'auth'], { type: oidc === undefined ? 'managed' : 'oidc' });
  document.setIn(['v2', 'job', 'server'], { endpoint, cert_authority_file: caFile });
  return document.toString({ lineWidth: 0 });
}

/** The Cluster that a file of clusters.d was made from; undefined if Berth did not make it. */
export function madeFrom(
  text: string,
): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, name] =
    /^# Made by `berth clusters discover` from the Cluster ([a-z0-9-]+)\/([a-z0-9.-]+?)\.$/m.exec(
      text,
    ) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** A cluster's part of berth.yml. Keys of the site's own stay. */
export function clusterKeys(
  { cluster, name, oidc }: DiscoveredCluster,
  { file, context }: ManagementAccess,
): KeyValues {
  const at = (...path: readonly string[]) => ['clusters', name, ...path];
  const access = {
    kubeconfig: file,
    ...(context === undefined ? {} : { context }),
    namespace: cluster.namespace,
    cluster: cluster.name,
  };
  if (oidc === undefined)
    return [
      [at('admin', 'cluster_api'), access],
      [at('credentials', 'mode'), 'service-account'],
    ];
  return [
    [at('admin', 'cluster_api'), access],
    [at('subject_prefix'), oidc.usernamePrefix],
    [at('credentials', 'issuer'), oidc.issuer],
    [at('credentials', 'audience'), oidc.audience],
    [at('credentials', 'username_claim'), oidc.usernameClaim],
  ];
}

/**
 * OnDemand's name of each cluster: that of the Cluster; with the namespace before it if several namespaces have a Cluster
 * of that name.
 */
export function clusterNames(clusters: readonly CapiCluster[]): ReadonlyMap<CapiCluster, string> {
  const byName = Map.groupBy(clusters, ({ name }) => name);
  return new Map(
    clusters.map((cluster) => [
      cluster,
      (byName.get(cluster.name)?.length ?? 0) > 1
        ? `${cluster.namespace}-${cluster.name}`
        : cluster.name,
    ]),
  );
}
