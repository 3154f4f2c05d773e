import { rewriteKubeconfig } from './rewrite-kubeconfig.ts';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type {
  ClusterSettings,
  JsonObject,
  ManagementCluster,
} from '../../config/schema/settings.ts';
import { parseKubeconfig } from '../../credentials/kubeconfig/kubeconfig-document.ts';
import { setKubeconfigEntries } from '../../credentials/kubeconfig/kubeconfig-edit.ts';
import { BerthError, withHint } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { entriesOfContext } from '../../kube/admin-kubeconfig.ts';
import { apiClient } from '../../kube/api-client.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { requestToken } from '../../kube/request-token.ts';
import { realPathIfPresent } from '../../system/if-present.ts';
import { readIfPresent, readTrusted } from '../../system/trusted-text.ts';
import { kubectlAccess } from './admin-command-access.ts';
import { clusterAdminAccess } from './capi-admin-access.ts';
import { grantPullSecret } from './grant-pull-secret.ts';
import { contextChoice, hookEntryName } from './hook-access.ts';
import { checkToken, type RotateDeps, type RotatedToken } from './rotate-token.ts';
import type { ServiceAccountName } from '../../kube/required-rights.ts';
import { tokenState } from './token-state.ts';

export interface SetupInput {
  readonly cluster: ClusterSettings;
  readonly clusterCount: number;
  readonly source: TokenSource;
  readonly account: ServiceAccountName;
}

/** The source of the first token. */
export type TokenSource =
  /** The API server, with the kubeconfig of an admin who may create tokens for the account. */
  | { readonly kind: 'admin'; readonly file: string; readonly context?: string }
  /** The same, with the kubeconfig that Cluster API keeps in the management cluster. */
  | { readonly kind: 'cluster-api'; readonly management: ManagementCluster }
  /** `kubectl create token`, for credentials that only kubectl can use. */
  | { readonly kind: 'token'; readonly token: string };

/** The first token and the TLS settings of its server. */
interface FirstToken {
  readonly token: string;
  readonly expires?: number;
  readonly server: Pick<ApiServer, 'ca' | 'tlsServerName'>;
  /** With the credentials of the admin; absent if only the token is known. */
  readonly admin?: ApiServer;
}

/**
 * Writes root's kubeconfig for the hook: gets the first token of the hook's ServiceAccount, checks it with
 * OnDemand's address of the cluster, and writes it as entries `berth-hook@CLUSTER`; other entries stay. Then grants the right
 * to the site's pull secret.
 *
 * @throws {BerthError} `admin-kubeconfig-context` if the hook would use another context, and what
 *   `clusterAdminAccess`, `kubectlAccess`, `requestToken`, `checkToken`, `grantPullSecret` and the writing throw
 */
export async function setupToken(input: SetupInput, deps: RotateDeps): Promise<RotatedToken> {
  const { cluster, account } = input;
  const first = await firstToken(input, deps);
  const admin = first.server;
  const written = serverEntry(cluster, admin);
  const { caFile } = cluster.server;
  const ca = caFile === undefined ? admin.ca : readTrusted(caFile);
  const hook: ApiServer = {
    url: cluster.server.endpoint,
    token: first.token,
    ca,
    ...(written.tlsServerName !== undefined && { tlsServerName: written.tlsServerName }),
  };
  await checkToken(hook, account, deps.deadline);
  await writeEntries(input, written.entry, first.token, deps);
  await grantRights(input, { ...first, hook }, deps);
  const { file } = cluster.admin;
  const user = hookEntryName(cluster);
  const expires = first.expires ?? tokenState(first.token, 0).expires ?? 0;
  return { cluster: cluster.name, file, user, account, expires };
}

/** What etc/kubernetes cannot know: the name of the site's pull secret. */
async function grantRights(
  { cluster: { pullSecret }, account }: SetupInput,
  { admin, hook }: { readonly admin?: ApiServer; readonly hook: ApiServer },
  { deadline: { signal } }: RotateDeps,
): Promise<void> {
  const writesPullSecrets = ['berth-hook', 'berth-login'].includes(account.name);
  if (pullSecret === undefined || admin === undefined || !writesPullSecrets) return;
  const clients = { admin: apiClient(admin, signal), hook: apiClient(hook, signal) };
  try {
    await grantPullSecret(clients, account, pullSecret.name);
  } finally {
    clients.admin.close();
    clients.hook.close();
  }
}

async function firstToken(
  { source, cluster, account: { namespace, name } }: SetupInput,
  { deadline, lifetimeSeconds }: RotateDeps,
): Promise<FirstToken> {
  if (source.kind === 'token') return { token: source.token, server: {} };
  const server =
    source.kind === 'admin'
      ? await adminServer(cluster, source, deadline.signal)
      : await clusterAdminAccess(source.management, cluster.server.endpoint, deadline.signal);
  const client = apiClient(server, deadline.signal);
  try {
    const { token, expiry } = await requestToken(client, {
      namespace,
      account: name,
      lifetimeSeconds,
    });
    return { token, expires: expiry, server, admin: server };
  } catch (thrown) {
    throw withoutAccount(thrown, source, name);
  } finally {
    client.close();
  }
}

function adminServer(
  { server: { endpoint } }: ClusterSettings,
  { file, context }: Extract<TokenSource, { kind: 'admin' }>,
  deadline: AbortSignal,
): Promise<ApiServer> {
  const { values } = parseKubeconfig(readTrusted(file), file);
  const choice = {
    file,
    endpoint,
    onlyCluster: true,
    context,
  };
  return kubectlAccess(values, choice, deadline);
}

/** The cluster entry: OnDemand's address, and the CA of clusters.d or else of the admin's file. */
function serverEntry(
  { server }: ClusterSettings,
  admin: FirstToken['server'],
): { readonly entry: JsonObject; readonly tlsServerName?: string } {
  const { tlsServerName } = admin;
  const ca: JsonObject =
    server.caFile !== undefined
      ? { 'certificate-authority': server.caFile }
      : admin.ca === undefined
        ? {}
        : { 'certificate-authority-data': Buffer.from(admin.ca).toString('base64') };
  return {
    entry: {
      ...ca,
      server: server.endpoint,
      ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    },
    tlsServerName,
  };
}

async function writeEntries(
  { cluster, clusterCount }: SetupInput,
  server: JsonObject,
  token: string,
  deps: RotateDeps,
): Promise<void> {
  const { admin } = cluster;
  if (!deps.dryRun) await mkdir(dirname(admin.file), { recursive: true, mode: 0o700 });
  const file = realPathIfPresent(admin.file);
  const name = hookEntryName(cluster);
  const context = admin.context ?? name;
  await rewriteKubeconfig(file, deps, () => {
    const old = readIfPresent(file) ?? '';
    const { text } = setKubeconfigEntries(
      old,
      [
        {
          cluster: { name, value: server },
          user: { name, value: { token } },
          context: { name: context, value: { cluster: name, user: name } },
          // In the same file, the current context may be the management cluster's.
          ...(admin.kind === 'kubeconfig' && { currentContextIfUnset: context }),
        },
      ],
      file,
    );
    const choice = contextChoice(cluster, clusterCount);
    const chosen = entriesOfContext(parseKubeconfig(text, file).values, choice);
    if (chosen.user !== name)
      throw new BerthError(
        'admin-kubeconfig-context',
        `${cluster.admin.file}: the hook would still use context ${chosen.context}, which has the same address`,
        {
          hint: `Nothing was written. Set clusters.${cluster.name}.admin.context: ${name} in berth.yml, and run this again.`,
          fields: { file: cluster.admin.file, cluster: cluster.name },
        },
      );
    return text;
  });
}

/** Adds how to install the missing account. */
function withoutAccount(
  thrown: unknown,
  source: Exclude<TokenSource, { kind: 'token' }>,
  account: string,
): unknown {
  if (!(thrown instanceof BerthError) || thrown.fields.status !== 404) return thrown;
  const manifests = manifestsOf(account);
  if (source.kind === 'admin')
    return withHint(
      thrown,
      `Install the account on the cluster first: kubectl --kubeconfig ${source.file} apply -k ${manifests}`,
      thrown,
    );
  const { namespace, cluster } = source.management;
  return withHint(
    thrown,
    `Install the hook's account on the cluster: cd "$(mktemp -d)"; kubectl -n ${namespace} get secret ${cluster}-kubeconfig -o jsonpath='{.data.value}' | base64 -d >${cluster}.kubeconfig; kubectl --kubeconfig ${cluster}.kubeconfig apply -k ${manifests}; rm ${cluster}.kubeconfig`,
    thrown,
  );
}

/** The kustomization with an account. */
function manifestsOf(account: string): string {
  const components: Readonly<Record<string, string>> = {
    'berth-ldap-sync': '/ldap-sync',
    'berth-login': '/ssh-sessions',
    'berth-reaper': '/reaper',
  };
  return installedPath(`share/etc/kubernetes${components[account] ?? ''}`);
}
