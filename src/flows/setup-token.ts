import { realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ClusterSettings, JsonObject } from '../config/settings.ts';
import { parseKubeconfig } from '../credentials/kubeconfig-document.ts';
import { setKubeconfigEntries } from '../credentials/kubeconfig-edit.ts';
import { withKubeconfigLock } from '../credentials/kubeconfig-lock.ts';
import { BerthError, isErrno } from '../errors.ts';
import { apiServerFrom, chosenEntries } from '../reconcile/admin-kubeconfig.ts';
import { apiClient } from '../reconcile/api-client.ts';
import type { ApiServer } from '../reconcile/api-server.ts';
import { requestToken, type IssuedToken } from '../reconcile/request-token.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { contextChoice, readTrusted } from './admin-access.ts';
import {
  checkToken,
  type RotateDeps,
  type RotatedToken,
  type ServiceAccountName,
} from './rotate-token.ts';

export interface SetupInput {
  readonly cluster: ClusterSettings;
  readonly clusterCount: number;
  /** A kubeconfig with which an admin may create tokens for the account. */
  readonly from: string;
  readonly fromContext?: string;
  readonly account: ServiceAccountName;
}

/**
 * Makes root's kubeconfig for the hook: with an admin's credentials it asks for the first token of
 * the hook's ServiceAccount, tries it at the address that OnDemand has for the cluster, and writes
 * it as entries `berth-hook@CLUSTER`. What else is in the file stays.
 *
 * @throws {BerthError} `token-cluster-api`, `admin-kubeconfig-context` where the hook would choose
 *   another context, and what `apiServerFrom`, `requestToken`, `checkToken` and the writing throw
 */
export async function setupToken(input: SetupInput, deps: RotateDeps): Promise<RotatedToken> {
  const { cluster, account } = input;
  if (cluster.admin.kind === 'cluster-api') throw keptByClusterApi(cluster.name);
  const admin = adminServer(input);
  const client = apiClient(admin, deps.deadline.signal);
  let requested: IssuedToken;
  try {
    requested = await requestToken(client, {
      namespace: account.namespace,
      account: account.name,
      lifetimeSeconds: deps.lifetimeSeconds,
    });
  } finally {
    client.close();
  }
  const written = serverEntry(cluster, admin);
  const { caFile } = cluster.server;
  const ca = caFile === undefined ? admin.ca : readTrusted(caFile);
  await checkToken(
    {
      url: cluster.server.endpoint,
      token: requested.token,
      ...(ca === undefined ? {} : { ca }),
      ...(written.tlsServerName === undefined ? {} : { tlsServerName: written.tlsServerName }),
    },
    account,
    deps.deadline,
  );
  await writeEntries(input, written.entry, requested.token, deps);
  const { file } = cluster.admin;
  const user = entryName(cluster);
  return { cluster: cluster.name, file, user, account, expires: requested.expiry };
}

function adminServer({ from, fromContext, cluster }: SetupInput): ApiServer {
  const { values } = parseKubeconfig(readTrusted(from), from);
  const choice = {
    file: from,
    endpoint: cluster.server.endpoint,
    onlyCluster: true,
    ...(fromContext === undefined ? {} : { context: fromContext }),
  };
  return apiServerFrom(values, choice, (path) => readTrusted(resolve(dirname(from), path)));
}

/** The cluster's entry: OnDemand's address, and the CA of clusters.d or else of the admin's file. */
function serverEntry(
  { server }: ClusterSettings,
  admin: ApiServer,
): { readonly entry: JsonObject; readonly tlsServerName?: string } {
  const { tlsServerName } = admin;
  const ca =
    server.caFile !== undefined
      ? { 'certificate-authority': server.caFile }
      : admin.ca === undefined
        ? {}
        : { 'certificate-authority-data': Buffer.from(admin.ca).toString('base64') };
  return {
    entry: {
      ...ca,
      server: server.endpoint,
      ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
    },
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
  };
}

async function writeEntries(
  { cluster, clusterCount }: SetupInput,
  server: JsonObject,
  token: string,
  deps: RotateDeps,
): Promise<void> {
  const { admin } = cluster;
  await mkdir(dirname(admin.file), { recursive: true, mode: 0o700 });
  const file = realFile(admin.file);
  const name = entryName(cluster);
  const context = admin.context ?? name;
  await withKubeconfigLock(file, deps, async () => {
    const old = readIfThere(file);
    const { text } = setKubeconfigEntries(
      old,
      [
        {
          cluster: { name, value: server },
          user: { name, value: { token } },
          context: { name: context, value: { cluster: name, user: name } },
          currentContextIfUnset: context,
        },
      ],
      file,
    );
    const choice = contextChoice(admin, cluster.server.endpoint, clusterCount);
    const chosen = chosenEntries(parseKubeconfig(text, file).values, choice);
    if (chosen.user !== name) throw otherContext(cluster, chosen.context, name);
    await writeAtomically(file, text, { mode: 0o600 });
  });
}

function entryName(cluster: ClusterSettings): string {
  return `berth-hook@${cluster.name}`;
}

function realFile(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return path;
    throw error;
  }
}

function readIfThere(file: string): string {
  try {
    return readTrusted(file);
  } catch (error) {
    if (error instanceof BerthError && ['config-missing', 'config-empty'].includes(error.code))
      return '';
    throw error;
  }
}

function otherContext({ name, admin }: ClusterSettings, chosen: string, own: string): BerthError {
  return new BerthError(
    `${admin.file}: the hook would go on using context ${chosen}, which leads to the same address`,
    {
      code: 'admin-kubeconfig-context',
      exit: 'config',
      hint: `Write into berth.yml: clusters.${name}.admin.context: ${own}, and run this again; nothing was written.`,
      fields: { file: admin.file, cluster: name },
    },
  );
}

function keptByClusterApi(cluster: string): BerthError {
  return new BerthError(`the credentials of cluster ${cluster} are kept by Cluster API`, {
    code: 'token-cluster-api',
    exit: 'config',
    hint: 'Nothing is to be set up for it: the secret CLUSTER-kubeconfig of the management cluster is read at each login.',
  });
}
