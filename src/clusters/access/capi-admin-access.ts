import type { V1Secret } from '@kubernetes/client-node';
import type { ManagementAccess, ManagementCluster } from '../../config/schema/settings.ts';
import {
  type kubeconfigValues,
  parseKubeconfig,
} from '../../credentials/kubeconfig/kubeconfig-document.ts';
import { kubeconfigTooLarge } from '../../credentials/kubeconfig/read-kubeconfig.ts';
import { BerthError, withHint } from '../../system/errors/berth-error.ts';
import { apiServerFrom } from '../../kube/admin-kubeconfig.ts';
import { type ApiClient, withApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { inReadingProcess } from '../../system/reading-process.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { kubectlAccess } from './admin-command-access.ts';

/**
 * Access to a cluster as cluster-admin, with the kubeconfig that Cluster API keeps in the management
 * cluster. Only for creating the hook's token.
 *
 * @param endpoint the cluster's address in OnDemand
 * @throws {BerthError} what `managementServer` and `capiServer` throw
 */
export async function clusterAdminAccess(
  management: ManagementCluster,
  endpoint: string,
  deadline: AbortSignal,
): Promise<ApiServer> {
  return withApiClient(await managementServer(management, deadline), deadline, async (client) => {
    const hint = `${management.file} must give access to the management cluster and the right to get ${secretOf(management)}; see admin.cluster_api in berth.yml.`;
    return capiServer(client, management, { endpoint, hint });
  });
}

/**
 * The API server of a management cluster. Its address is not configured: the context's counts.
 *
 * @throws {BerthError} what `kubectlAccess`, `parseKubeconfig` and reading the file throw
 */
export function managementServer(
  { file, context }: ManagementAccess,
  deadline: AbortSignal,
): Promise<ApiServer> {
  const { values } = parseKubeconfig(readTrusted(file), file);
  const named = context === undefined ? {} : { context };
  return kubectlAccess(values, { file, endpoint: '', onlyCluster: true, ...named }, deadline);
}

type CapiSecret = Pick<ManagementCluster, 'namespace' | 'cluster'>;

/**
 * A cluster's API server and an admin's access to it, from the key `value` of the Secret `CLUSTER-kubeconfig`, as Cluster
 * API's contract defines it.
 *
 * @param client of the management cluster
 * @param choice.endpoint the cluster's address, or '' if it is not known
 * @param choice.hint instead of the hint of an `api-…` error, which is about the hook's token
 * @throws {BerthError} `admin-kubeconfig-unsupported`, the `api-…` errors with the status in `fields`, and what
 *   `parseKubeconfig` and `apiServerFrom` throw
 */
export async function capiServer(
  client: ApiClient,
  secret: CapiSecret,
  { endpoint, hint }: { readonly endpoint: string; readonly hint: string },
): Promise<ApiServer> {
  const file = secretOf(secret);
  const name = encodeURIComponent(`${secret.cluster}-kubeconfig`);
  const path = `/api/v1/namespaces/${encodeURIComponent(secret.namespace)}/secrets/${name}`;
  const answer = await client.send({ method: 'GET', path });
  if (answer.status !== 200)
    throw withHint(apiError(`reading ${file} of the management cluster`, answer), hint);
  const { value } = (answer.body as V1Secret).data ?? {};
  const text = Buffer.from(value ?? '', 'base64').toString();
  const values = await inReadingProcess<typeof kubeconfigValues>(
    'kubeconfigValues',
    [text, file],
    (why) => kubeconfigTooLarge(file, why),
  );
  return apiServerFrom(values, { file, endpoint, onlyCluster: true }, (named) => {
    throw new BerthError('admin-kubeconfig-unsupported', `${file}: it names the file ${named}`, {
      hint: 'A kubeconfig of Cluster API must contain its certificates.',
    });
  });
}

function secretOf({ namespace, cluster }: CapiSecret): string {
  return `secret ${namespace}/${cluster}-kubeconfig`;
}
