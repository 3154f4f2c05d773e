import type { ManagementCluster } from '../../config/schema/settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { type ApiClient, withApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
import { inReadingProcess } from '../../system/reading-process.ts';
import { managementServer } from './capi-admin-access.ts';
import { type CapiCluster, capiClusterOf, controlPlaneGroup } from './rules/capi-cluster.ts';
import {
  type oidcArguments,
  type OidcArguments,
  tooLargeConfiguration,
} from './rules/oidc-arguments.ts';

/** The API group of Clusters. */
export const capiGroup = 'cluster.x-k8s.io';

/** The OIDC settings of one Cluster. @throws {BerthError} `capi-missing`, the `api-…` errors, and those of `managementServer` */
export async function readOidc(
  access: ManagementCluster,
  deadline: AbortSignal,
): Promise<OidcArguments | undefined> {
  return withApiClient(await managementServer(access, deadline), deadline, async (client) => {
    const version = await preferredVersion(client, capiGroup);
    const { namespace, cluster } = access;
    const within = `/apis/${capiGroup}/${version}/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${within}/clusters/${encodeURIComponent(cluster)}`;
    const answer = await client.send({ method: 'GET', path });
    if (answer.status !== 200)
      throw apiError(`reading the Cluster ${namespace}/${cluster}`, answer);
    const found = capiClusterOf(answer.body);
    return found && (await controlPlaneOidc(client, found));
  });
}

/** @throws {BerthError} `capi-missing`; the `api-…` errors */
export async function preferredVersion(client: ApiClient, name: string): Promise<string> {
  const answer = await client.send({ method: 'GET', path: `/apis/${name}` });
  if (answer.status === 404)
    throw new BerthError('capi-missing', `this cluster has no API group ${name}`);
  if (answer.status !== 200) throw apiError(`reading the API group ${name}`, answer);
  const { version } = mappingOrEmpty(answer.body.preferredVersion);
  return typeof version === 'string' ? encodeURIComponent(version) : 'v1beta2';
}

/** @returns undefined if the control plane has no such settings, is of another kind, or may not be read */
export async function controlPlaneOidc(
  client: ApiClient,
  { controlPlane }: CapiCluster,
): Promise<OidcArguments | undefined> {
  if (controlPlane?.kind !== 'KubeadmControlPlane') return undefined;
  const { namespace, name } = controlPlane;
  const version = controlPlane.version ?? (await preferredVersion(client, controlPlaneGroup));
  const within = `/apis/${controlPlaneGroup}/${version}/namespaces/${encodeURIComponent(namespace)}`;
  const path = `${within}/kubeadmcontrolplanes/${encodeURIComponent(name)}`;
  const answer = await client.send({ method: 'GET', path });
  if (answer.status === 200)
    return inReadingProcess<typeof oidcArguments>('oidcArguments', [answer.body], (why) =>
      tooLargeConfiguration(`${namespace}/${name}`, why),
    );
  if (answer.status === 403 || answer.status === 404) return undefined;
  throw apiError(`reading the KubeadmControlPlane ${namespace}/${name}`, answer);
}
