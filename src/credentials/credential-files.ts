import type { ClusterSettings, JsonObject, OidcSettings } from '../config/settings.ts';
import { brokerSocket } from './broker-protocol.ts';
import { type CredentialCache, credentialCachePath } from './credential-cache.ts';
import { execUser } from './kubeconfig/kubeconfig-entries.ts';
import {
  type LoginTokens,
  verifiedLogin,
  type VerifiedLogin,
  type VerifyDeps,
} from './renewable-token.ts';
import type { StoredCredential } from './root-store.ts';
import { BerthError, type ErrorCode } from '../errors.ts';
import type { User } from '../identity/user.ts';

export interface CredentialDeps extends VerifyDeps {
  /** Where the compiled `kube-credential` is installed. */
  readonly kubeCredentialCommand: string;
  /** A token of the user's ServiceAccount, by TokenRequest. */
  readonly mintToken?: MintToken;
}

/** @returns A token of the user's ServiceAccount, and its end in seconds since the epoch. */
export type MintToken = (
  cluster: ClusterSettings,
  user: Pick<User, 'name' | 'uid'>,
) => Promise<{ readonly token: string; readonly expiry: number }>;

/** Everything that is to be written for one user and one cluster; nothing is written yet. */
export interface PreparedCredentials {
  /** For the user's home, mode 0600, written as the user. `path` is relative to the home. */
  readonly cacheFile?: { readonly path: string; readonly contents: CredentialCache };
  /** For root's `storePath`, mode 0600. */
  readonly rootStore?: StoredCredential;
  /** The value of the kubeconfig's user entry. */
  readonly kubeconfigUser?: JsonObject;
  /** True when the user's `kube-credential` will ask the broker: `ensureBroker` must have run. */
  readonly needsBroker: boolean;
  readonly warnings: readonly CredentialWarning[];
}

export interface CredentialWarning {
  readonly code: ErrorCode;
  readonly message: string;
}

/**
 * Decides what a user's kubectl is to prove itself with, as data: the dry run shows it and the hook
 * writes it. Nothing is in it that was not verified, and no client secret but in the legacy mode.
 *
 * @throws {BerthError} `token-missing`, `mint-missing`, and what `obtainToken` and `obtainByRefresh`
 *   throw.
 */
export async function prepareCredentials(
  user: User,
  cluster: ClusterSettings,
  tokens: LoginTokens,
  deps: CredentialDeps,
): Promise<PreparedCredentials> {
  const settings = cluster.credentials;
  switch (settings.mode) {
    case 'none':
      return { needsBroker: false, warnings: [] };
    case 'oidc':
      return await prepareOidc(user, cluster, settings, tokens, deps);
    case 'service-account':
      return await prepareServiceAccount(user, cluster, deps);
    case 'legacy':
      return prepareLegacy(
        cluster,
        settings.oidc,
        await verifiedLogin(user, settings.oidc, tokens, deps),
      );
  }
}

async function prepareOidc(
  user: User,
  cluster: ClusterSettings,
  settings: OidcSettings,
  tokens: LoginTokens,
  deps: CredentialDeps,
): Promise<PreparedCredentials> {
  const login = await verifiedLogin(user, settings, tokens, deps);
  const { token, expiry, refreshToken, origin, own } = login;
  const turn = login.turn === undefined ? {} : { turn: login.turn };
  const confidential = settings.clientSecret !== undefined;
  const common = {
    version: 1,
    cluster: cluster.name,
    server: cluster.server.endpoint,
    token,
    expiry,
  } as const;
  const kubeconfigUser = execUser(deps.kubeCredentialCommand);
  const file = (refresh?: CredentialCache['refresh']) => ({
    path: credentialCachePath(cluster.server.endpoint),
    contents: { ...common, ...(refresh && { refresh }) },
  });

  if (refreshToken === undefined || origin === undefined) {
    const message = `there is no refresh token: kubectl works only until ${new Date(expiry * 1000).toISOString()}`;
    const warning = { code: 'refresh-token-missing' as const, message };
    return { cacheFile: file(), kubeconfigUser, needsBroker: false, warnings: [warning] };
  }
  if (confidential) {
    return {
      cacheFile: file({ by: 'broker', socket: brokerSocket(user.uid) }),
      rootStore: {
        version: 1,
        username: user.name,
        token,
        expiry,
        refreshToken,
        ...(own === true && { own }),
        origin,
        ...turn,
      },
      kubeconfigUser,
      needsBroker: true,
      warnings: [],
    };
  }
  const { tokenEndpoint } = await deps.issuer(settings);
  const refresh = {
    by: 'plugin',
    tokenEndpoint,
    clientId: settings.clientId,
    refreshToken,
    token: settings.token,
    ...(settings.caFile !== undefined && { ca: deps.readCa(settings.caFile) }),
    origin,
    ...turn,
  } as const;
  return { cacheFile: file(refresh), kubeconfigUser, needsBroker: false, warnings: [] };
}

async function prepareServiceAccount(
  user: User,
  cluster: ClusterSettings,
  deps: CredentialDeps,
): Promise<PreparedCredentials> {
  if (deps.mintToken === undefined) {
    throw new BerthError(`no way to make a ServiceAccount token for ${cluster.name}`, {
      code: 'mint-missing',
      exit: 'software',
      hint: 'This is a defect of Berth: report it with this line.',
    });
  }
  const { token, expiry } = await deps.mintToken(cluster, user);
  const refresh = { by: 'broker', socket: brokerSocket(user.uid) } as const;
  const { name, server } = cluster;
  return {
    cacheFile: {
      path: credentialCachePath(server.endpoint),
      contents: { version: 1, cluster: name, server: server.endpoint, token, expiry, refresh },
    },
    rootStore: { version: 1, username: user.name, token, expiry },
    kubeconfigUser: execUser(deps.kubeCredentialCommand),
    needsBroker: true,
    warnings: [],
  };
}

/** The entry that `set-k8s-creds.sh` makes with `kubectl config set-credentials --auth-provider`. */
function prepareLegacy(
  cluster: ClusterSettings,
  settings: OidcSettings,
  { token, refreshToken }: VerifiedLogin,
): PreparedCredentials {
  const kubeconfigUser = legacyUser(settings, {
    secret: settings.clientSecret ?? '',
    refresh: refreshToken ?? '',
    id: token,
  });
  const message = `cluster ${cluster.name}: the legacy mode puts the client's secret and the refresh token where each user can read them`;
  return {
    kubeconfigUser,
    needsBroker: false,
    warnings: [{ code: 'credentials-legacy', message }],
  };
}

function legacyUser(
  settings: OidcSettings,
  secrets: { readonly secret: string; readonly refresh: string; readonly id: string },
): JsonObject {
  return {
    'auth-provider': {
      name: 'oidc',
      config: {
        'idp-issuer-url': settings.issuer,
        'client-id': settings.clientId,
        'client-secret': secrets.secret,
        'refresh-token': secrets.refresh,
        'id-token': secrets.id,
        ...(settings.caFile !== undefined && { 'idp-certificate-authority': settings.caFile }),
      },
    },
  };
}
