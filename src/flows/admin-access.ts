import { dirname, resolve } from 'node:path';
import type { AdminCredentials, ClusterSettings } from '../config/settings.ts';
import { BerthError } from '../errors.ts';
import { apiServerFrom, type ContextChoice } from '../reconcile/admin-kubeconfig.ts';
import { apiClient, type ApiClient } from '../reconcile/api-client.ts';
import { apiError } from '../reconcile/api-errors.ts';
import type { ApiServer } from '../reconcile/api-server.ts';
import { asOurselves } from '../system/as-user.ts';
import { readConfigFile } from '../system/config-files.ts';
import { parseKubeconfigYaml, readAdminKubeconfig } from './admin-kubeconfig-file.ts';

export interface AccessDeps {
  /** Root's folder for what a login need not work out again. */
  readonly stateDir: string;
  /** False for a dry run, which leaves no trace there. */
  readonly remember: boolean;
  readonly deadline: AbortSignal;
  /** Root's kubeconfigs as they were read, where clusters share them. */
  readonly documents?: Map<string, Promise<unknown>>;
  /** Reads what a kubeconfig names; `readTrusted` where not said. */
  readonly read?: (file: string) => string;
  /** How many clusters are configured: with one, `current-context` may decide. */
  readonly clusterCount: number;
}

/** Reads a file as root, refusing one that others could have written. */
export function readTrusted(file: string): string {
  return readConfigFile(file, process.geteuid?.() ?? 0).bytes.toString();
}

/** The same, each file once: for a login over many clusters that share their files. */
export function readingOnce(): (file: string) => string {
  const texts = new Map<string, string>();
  return (file) => {
    const text = texts.get(file) ?? readTrusted(file);
    texts.set(file, text);
    return text;
  };
}

/**
 * Root's way into a cluster: from a kubeconfig on this host, or from the `CLUSTER-kubeconfig` secret
 * that Cluster API keeps in a management cluster. Takes our own turn (`asOurselves`) for the file
 * alone, so call it outside of one: a management cluster that is slow must not keep the user's files waiting.
 */
export async function adminAccess(cluster: ClusterSettings, deps: AccessDeps): Promise<ApiServer> {
  return reachCluster(cluster, await asOurselves(() => localAccess(cluster, deps)), deps);
}

/** What root's kubeconfig on this host leads to: the cluster, or the one that manages it. */
export function localAccess(cluster: ClusterSettings, deps: AccessDeps): Promise<ApiServer> {
  return fromKubeconfigFile(cluster.admin, cluster.server.endpoint, deps);
}

/** The cluster itself, asked for in its management cluster where it is kept there. */
export async function reachCluster(
  cluster: ClusterSettings,
  local: ApiServer,
  deps: AccessDeps,
): Promise<ApiServer> {
  return cluster.admin.kind === 'kubeconfig'
    ? local
    : fromClusterApi(cluster.admin, cluster, local, deps);
}

/** What to look for in root's kubeconfig; `berth token rotate` writes into the entry it finds. */
export function contextChoice(
  admin: AdminCredentials,
  endpoint: string,
  clusterCount: number,
): ContextChoice {
  return {
    file: admin.file,
    endpoint,
    onlyCluster: clusterCount === 1 || admin.kind === 'cluster-api',
    ...(admin.context === undefined ? {} : { context: admin.context }),
  };
}

async function fromKubeconfigFile(
  admin: AdminCredentials,
  endpoint: string,
  deps: AccessDeps,
): Promise<ApiServer> {
  const choice = contextChoice(admin, endpoint, deps.clusterCount);
  const reading = deps.documents?.get(admin.file) ?? readAdminKubeconfig(admin.file, deps);
  deps.documents?.set(admin.file, reading);
  const document = await reading;
  const { read = readTrusted } = deps;
  return apiServerFrom(document, choice, (path) => read(resolve(dirname(admin.file), path)));
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
  return apiServerFrom(await parseKubeconfigYaml(kubeconfig, choice.file), choice, (path) => {
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
