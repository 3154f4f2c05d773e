import { dirname, resolve } from 'node:path';
import type { AdminCredentials, ClusterSettings } from '../config/settings.ts';
import { BerthError } from '../errors.ts';
import { apiServerFrom, type ContextChoice } from '../reconcile/admin-kubeconfig.ts';
import { apiClient, type ApiClient } from '../reconcile/api-client.ts';
import { apiError } from '../reconcile/api-errors.ts';
import type { ApiServer } from '../reconcile/api-server.ts';

/** Reads a file as root, refusing one that others could have written. */
export type ReadTrusted = (path: string) => string;

/** Turns YAML into a plain value; handed in because the parser is loaded only where it is needed. */
export type ParseYaml = (text: string) => unknown;

export interface AccessDeps {
  readonly read: ReadTrusted;
  readonly parseYaml: ParseYaml;
  readonly deadline: AbortSignal;
  /** How many clusters are configured: with one, `current-context` may decide. */
  readonly clusterCount: number;
}

/**
 * Root's way into a cluster: from a kubeconfig on this host, or from the `CLUSTER-kubeconfig` secret
 * that Cluster API keeps in a management cluster.
 */
export async function adminAccess(cluster: ClusterSettings, deps: AccessDeps): Promise<ApiServer> {
  const local = fromKubeconfigFile(cluster.admin, cluster.server.endpoint, deps);
  return cluster.admin.kind === 'kubeconfig'
    ? local
    : fromClusterApi(cluster.admin, cluster, local, deps);
}

function fromKubeconfigFile(
  admin: AdminCredentials,
  endpoint: string,
  deps: AccessDeps,
): ApiServer {
  const choice: ContextChoice = {
    file: admin.file,
    endpoint,
    onlyCluster: deps.clusterCount === 1 || admin.kind === 'cluster-api',
    ...(admin.context === undefined ? {} : { context: admin.context }),
  };
  return apiServerFrom(parse(deps.read(admin.file), admin.file, deps.parseYaml), choice, (path) =>
    deps.read(resolve(dirname(admin.file), path)),
  );
}

async function fromClusterApi(
  admin: Extract<AdminCredentials, { kind: 'cluster-api' }>,
  cluster: ClusterSettings,
  management: ApiServer,
  deps: AccessDeps,
): Promise<ApiServer> {
  const secret = `${admin.namespace}/${admin.cluster}-kubeconfig`;
  const kubeconfig = await readKubeconfigSecret(apiClient(management, deps.deadline), admin);
  const choice = { file: `secret ${secret}`, endpoint: cluster.server.endpoint, onlyCluster: true };
  return apiServerFrom(parse(kubeconfig, choice.file, deps.parseYaml), choice, (path) => {
    throw new BerthError(`secret ${secret}: it refers to the file ${path}`, {
      code: 'admin-kubeconfig-unsupported',
      exit: 'config',
      hint: 'A kubeconfig kept by Cluster API holds its certificates inline.',
    });
  });
}

/** Cluster API's contract: key `value` of the secret `CLUSTER-kubeconfig`. */
async function readKubeconfigSecret(
  client: ApiClient,
  admin: Extract<AdminCredentials, { kind: 'cluster-api' }>,
): Promise<string> {
  try {
    const name = `${admin.cluster}-kubeconfig`;
    const answer = await client.send({
      method: 'GET',
      path: `/api/v1/namespaces/${encodeURIComponent(admin.namespace)}/secrets/${encodeURIComponent(name)}`,
    });
    if (answer.status !== 200)
      throw apiError(`reading secret ${admin.namespace}/${name} of the management cluster`, answer);
    const { value } = answer.body.data as { value?: string };
    return Buffer.from(value ?? '', 'base64').toString();
  } finally {
    client.close();
  }
}

function parse(text: string, file: string, parseYaml: ParseYaml): unknown {
  try {
    return parseYaml(text);
  } catch (cause) {
    throw new BerthError(`${file}: this is not YAML`, {
      code: 'admin-kubeconfig-invalid',
      exit: 'config',
      hint: 'See `kubectl config view --kubeconfig FILE`.',
      fields: { file },
      cause,
    });
  }
}
