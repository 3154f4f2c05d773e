import { parseDocument } from 'yaml';
import type { KeyValues } from '../../../config/schema/berth-keys.ts';
import type { ManagementAccess } from '../../../config/schema/settings.ts';
import { asMapping, mappingOrEmpty } from '../../../system/text/mapping.ts';
import { parsedYaml } from '../../../clusters/access/rules/foreign-yaml.ts';
import { pathOf } from './cluster-names.ts';
import type { UsableCluster } from './usable-cluster.ts';
import type { KnownAudience } from './shared-audiences.ts';

/** The same with OnDemand's name: the file in clusters.d without `.yml`. */
export interface DiscoveredCluster extends UsableCluster {
  readonly name: string;
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
    title:
  job:
    adapter: kubernetes
    cluster:
    context:
    bin: /usr/bin/kubectl
  batch_connect:
    ssh_allow: false
`,
  );
  // A name such as `true` or `2024-01-01` is then written as a string.
  if (present === undefined)
    for (const path of [
      ['metadata', 'title'],
      ['job', 'cluster'],
      ['job', 'context'],
    ])
      document.setIn(['v2', ...path], name);
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

/** Whether users of a file of clusters.d get tokens of the identity provider. */
export function hasOidc(text: string): boolean {
  const { job } = mappingOrEmpty(mappingOrEmpty(parsedYaml(text)).v2);
  return mappingOrEmpty(mappingOrEmpty(job).auth).type === 'oidc';
}

/** The CA file that a file of clusters.d names. */
export function caFileOf(text: string): unknown {
  const { job } = mappingOrEmpty(mappingOrEmpty(parsedYaml(text)).v2);
  return mappingOrEmpty(mappingOrEmpty(job).server).cert_authority_file;
}

/**
 * The audiences of the clusters in clusters.d.
 *
 * @param held their names, and the path of the Cluster that each was made from
 * @param standard the names of clusters that an admin wrote, and their audience where berth.yml has none
 */
export function knownAudiences(
  berth: string,
  held: ReadonlyMap<string, string | undefined>,
  standard: { readonly names: ReadonlySet<string>; readonly audience: string | undefined },
): readonly KnownAudience[] {
  const clusters = mappingOrEmpty(mappingOrEmpty(parsedYaml(berth)).clusters);
  return [...held].flatMap(([name, path]) => {
    const { audience: own } = mappingOrEmpty(mappingOrEmpty(clusters[name]).credentials);
    const audience = own ?? (standard.names.has(name) ? standard.audience : undefined);
    if (typeof audience !== 'string') return [];
    const [namespace, cluster] = path?.split('/') ?? [];
    return namespace === undefined || cluster === undefined
      ? [{ name, audience }]
      : [{ name, audience, from: { namespace, name: cluster } }];
  });
}

/** The Cluster that a name of berth.yml is bound to. */
export function boundTo(
  berth: string,
  name: string,
): { readonly namespace: unknown; readonly cluster: unknown } | undefined {
  const own = mappingOrEmpty(mappingOrEmpty(mappingOrEmpty(parsedYaml(berth)).clusters)[name]);
  const api = asMapping(mappingOrEmpty(own.admin).cluster_api);
  return api && { namespace: api.namespace, cluster: api.cluster };
}

/**
 * A cluster's part of berth.yml. Keys of the site's own stay.
 *
 * @param isBound whether berth.yml has this name for this Cluster already. For a new one, the hook's context gets a name
 *   with the Cluster in it: a token for another Cluster, which had this name before, is then never used for this one.
 */
export function clusterKeys(
  { cluster, name, oidc }: DiscoveredCluster,
  { file, context }: ManagementAccess,
  isBound: boolean,
): KeyValues {
  const at = (...path: readonly string[]) => ['clusters', name, ...path];
  const access = {
    kubeconfig: file,
    context,
    namespace: cluster.namespace,
    cluster: cluster.name,
  };
  const admin: KeyValues = [
    ...(isBound ? [] : ([[at('admin', 'context'), `berth-hook@${pathOf(cluster)}`]] as const)),
    [at('admin', 'cluster_api'), access],
  ];
  if (oidc === undefined) return [...admin, [at('credentials', 'mode'), 'service-account']];
  return [
    ...admin,
    [at('subject_prefix'), oidc.usernamePrefix],
    [at('credentials', 'issuer'), oidc.issuer],
    [at('credentials', 'audience'), oidc.audience],
    [at('credentials', 'username_claim'), oidc.usernameClaim],
  ];
}
