import { capiServer, managementServer } from '../../clusters/access/capi-admin-access.ts';
import type { ManagementAccess } from '../../config/schema/settings.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { type ApiClient, withApiClient } from '../../kube/api-client.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { listAll } from '../../kube/list-all.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { capiGroup, controlPlaneOidc, preferredVersion } from '../../clusters/access/capi-oidc.ts';
import { type CapiCluster, capiClusterOf } from '../../clusters/access/rules/capi-cluster.ts';
import type { UsableCluster } from './rules/usable-cluster.ts';

/** The clusters of a management cluster. */
export interface ManagedClusters {
  readonly found: readonly UsableCluster[];
  /** Those that cannot be used yet, or not any more, with the reason. */
  readonly skipped: readonly SkippedCluster[];
}

export interface SkippedCluster {
  readonly cluster: CapiCluster;
  readonly reason: string;
  /** Whether somebody has to correct it. */
  readonly failed?: true;
}

/** How many Clusters are read at once, each with a process for what its tenant wrote. */
const atOnce = 2;

/**
 * Reads all Clusters of a management cluster, their addresses and CAs from the Secrets CLUSTER-kubeconfig, and the OIDC
 * settings from their control planes. A management cluster that manages itself is one of them.
 *
 * @param options.namespace only Clusters in this namespace
 * @throws {BerthError} `capi-missing`, the `api-…` errors, and those of `kubectlAccess` and `parseKubeconfig`
 */
export async function readManagement(
  access: ManagementAccess,
  { namespace, deadline }: { readonly namespace?: string; readonly deadline: AbortSignal },
): Promise<ManagedClusters> {
  return withApiClient(await managementServer(access, deadline), deadline, async (client) => {
    const version = await preferredVersion(client, capiGroup);
    const within = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
    const path = `/apis/${capiGroup}/${version}${within}/clusters`;
    const objects = await listAll(client, path, { attempted: 'listing the Clusters' });
    const clusters = objects.flatMap((object) => capiClusterOf(object) ?? []);
    const results = await mapConcurrent(clusters, atOnce, (cluster) =>
      readClusterOrReason(client, cluster),
    );
    return {
      found: results.filter((one) => 'endpoint' in one),
      skipped: results.filter((one) => 'reason' in one),
    };
  });
}

/** Tenants write these objects: a wrong one concerns its own cluster only. @throws {BerthError} the `api-…` errors */
async function readClusterOrReason(
  client: ApiClient,
  cluster: CapiCluster,
): Promise<UsableCluster | SkippedCluster> {
  try {
    return await readCluster(client, cluster);
  } catch (thrown) {
    const error = asBerthError(thrown, 'reading it');
    if (error.code.startsWith('api-')) throw thrown;
    return { cluster, reason: `${error.message} [${error.code}]`, failed: true };
  }
}

async function readCluster(
  client: ApiClient,
  cluster: CapiCluster,
): Promise<UsableCluster | SkippedCluster> {
  if (cluster.deleting) return { cluster, reason: 'it is being deleted' };
  const server = await clusterServer(client, cluster);
  if (server === undefined) return { cluster, reason: 'it has no Secret with its kubeconfig yet' };
  if (server.ca === undefined) return { cluster, reason: 'its kubeconfig has no CA' };
  if (server.tlsServerName !== undefined)
    return { cluster, reason: 'its kubeconfig has tls-server-name, and those of users cannot' };
  const oidc = await controlPlaneOidc(client, cluster);
  return {
    cluster,
    endpoint: server.url,
    ca: server.ca,
    oidc,
  };
}

/** @returns undefined if Cluster API has not made the Secret yet */
async function clusterServer(
  client: ApiClient,
  { namespace, name }: CapiCluster,
): Promise<ApiServer | undefined> {
  const hint =
    'The account in this kubeconfig needs the rights to list Clusters and to get these Secrets.';
  try {
    return await capiServer(client, { namespace, cluster: name }, { endpoint: '', hint });
  } catch (thrown) {
    if (thrown instanceof BerthError && thrown.fields.status === 404) return undefined;
    throw thrown;
  }
}
