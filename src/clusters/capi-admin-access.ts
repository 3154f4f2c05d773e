import type { V1Secret } from '@kubernetes/client-node';
import type { ManagementCluster } from '../config/settings.ts';
import { parseKubeconfig } from '../credentials/kubeconfig/kubeconfig-document.ts';
import { BerthError, withHint } from '../errors.ts';
import { apiServerFrom } from '../reconcile/admin-kubeconfig.ts';
import { apiClient } from '../reconcile/api-client.ts';
import { apiError } from '../reconcile/api-errors.ts';
import type { ApiServer } from '../reconcile/api-server.ts';
import { readTrusted } from './hook-access.ts';
import { kubectlAccess } from './admin-command-access.ts';

/**
 * Access to a cluster as cluster-admin, with the kubeconfig that Cluster API keeps in the management
 * cluster. Only for creating the hook's token.
 *
 * @param endpoint the cluster's address in OnDemand
 * @throws {BerthError} what `apiServerFrom`, `kubectlAccess` and reading the file and the secret throw
 */
export async function clusterAdminAccess(
  management: ManagementCluster,
  endpoint: string,
  deadline: AbortSignal,
): Promise<ApiServer> {
  const file = `secret ${management.namespace}/${management.cluster}-kubeconfig`;
  const { values } = parseKubeconfig(await readSecret(management, file, deadline), file);
  return apiServerFrom(values, { file, endpoint, onlyCluster: true }, (path) => {
    throw new BerthError(`${file}: it names the file ${path}`, {
      code: 'admin-kubeconfig-unsupported',
      hint: 'A kubeconfig of Cluster API must contain its certificates.',
    });
  });
}

/** Reads the key `value` of the secret `CLUSTER-kubeconfig`, as Cluster API's contract defines it. */
async function readSecret(
  { file, context, namespace, cluster }: ManagementCluster,
  secret: string,
  deadline: AbortSignal,
): Promise<string> {
  const { values } = parseKubeconfig(readTrusted(file), file);
  // Its address is not configured: the named context, or the current one.
  const choice = {
    file,
    endpoint: '',
    onlyCluster: true,
    ...(context === undefined ? {} : { context }),
  };
  const server = await kubectlAccess(values, choice, deadline);
  const client = apiClient(server, deadline);
  try {
    const name = encodeURIComponent(`${cluster}-kubeconfig`);
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${name}`;
    const answer = await client.send({ method: 'GET', path });
    if (answer.status !== 200)
      throw unreadable(
        secret,
        file,
        apiError(`reading ${secret} of the management cluster`, answer),
      );
    const { value } = (answer.body as V1Secret).data ?? {};
    return Buffer.from(value ?? '', 'base64').toString();
  } finally {
    client.close();
  }
}

/** Replaces the hint of an `api-…` error, which is about the hook's token. */
function unreadable(secret: string, file: string, error: BerthError): BerthError {
  return withHint(
    error,
    `${file} must give access to the management cluster and the right to get ${secret}; see admin.cluster_api in berth.yml.`,
  );
}
