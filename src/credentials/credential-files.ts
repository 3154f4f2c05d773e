import type { ClusterSettings, JsonObject, OidcSettings } from '../config/schema/settings.ts';
import { brokerSocket } from './broker-protocol.ts';
import type { CredentialCache } from './credential-cache.ts';
import { execUser } from './kubeconfig/kubeconfig-entries.ts';
import type { ObtainContext } from './oidc/obtain-token.ts';
import type { RenewableToken } from './renewable-token.ts';
import type { StoredCredential } from './root-credential-store.ts';
import type { LogCode } from '../system/errors/error-codes.ts';

/** Everything that is to be written for one user and one cluster. */
export interface CredentialFiles {
  /** For `credentialCachePath` in the user's home, mode 0600, written as the user. */
  readonly cacheFile?: CredentialCache;
  /** For root's `storedCredentialPath`, mode 0600. */
  readonly rootStore?: StoredCredential;
  /** The value of the kubeconfig's user entry. */
  readonly kubeconfigUser?: JsonObject;
  /** True if the user's `kube-credential` will ask the broker: `openBrokerSocket` must have run. */
  readonly needsBroker: boolean;
  readonly warnings: readonly CredentialWarning[];
}

export interface CredentialWarning {
  readonly code: LogCode;
  readonly message: string;
}

export interface CredentialOwner {
  readonly name: string;
  readonly uid: number;
  /** Absolute path of the installed `kube-credential`. */
  readonly kubeCredentialCommand: string;
}

export const noCredentialFiles: CredentialFiles = { needsBroker: false, warnings: [] };

/** The files for a token of the identity provider. A client secret is in none of them. */
export function oidcFiles(
  owner: CredentialOwner,
  cluster: ClusterSettings,
  { settings, issuer, ca }: Pick<ObtainContext, 'settings' | 'issuer' | 'ca'>,
  renewable: RenewableToken,
): CredentialFiles {
  const { token, expiry, refreshToken, origin, own } = renewable;
  const turn = renewable.turn === undefined ? {} : { turn: renewable.turn };
  if (refreshToken === undefined || origin === undefined) {
    const message = `there is no refresh token: kubectl works only until ${new Date(expiry * 1000).toISOString()}`;
    const warning = { code: 'refresh-token-missing' as const, message };
    return { ...pluginFiles(owner, cluster, renewable), warnings: [warning] };
  }
  if (settings.clientAuth !== undefined) {
    const rootStore = {
      ...({ version: 1, username: owner.name, issuer: settings.issuer } as const),
      token,
      expiry,
      refreshToken,
      ...(own === true && { own }),
      origin,
      ...turn,
    };
    return brokerFiles(owner, cluster, rootStore);
  }
  return pluginFiles(owner, cluster, renewable, {
    by: 'plugin',
    tokenEndpoint: issuer.tokenEndpoint,
    clientId: settings.clientId,
    refreshToken,
    token: settings.token,
    ca,
    origin,
    ...turn,
  });
}

/** The files for a token of the user's ServiceAccount, which the broker renews. */
export function serviceAccountFiles(
  owner: CredentialOwner,
  cluster: ClusterSettings,
  { token, expiry }: Pick<RenewableToken, 'token' | 'expiry'>,
): CredentialFiles {
  return brokerFiles(owner, cluster, { version: 1, username: owner.name, token, expiry });
}

function brokerFiles(
  owner: CredentialOwner,
  cluster: ClusterSettings,
  rootStore: StoredCredential,
): CredentialFiles {
  const refresh = { by: 'broker', socket: brokerSocket(owner.uid) } as const;
  return { ...pluginFiles(owner, cluster, rootStore, refresh), rootStore, needsBroker: true };
}

/** The cache from which the exec plugin answers, and the kubeconfig entry that runs the plugin. */
function pluginFiles(
  { kubeCredentialCommand }: CredentialOwner,
  { name, server }: ClusterSettings,
  { token, expiry }: Pick<RenewableToken, 'token' | 'expiry'>,
  refresh?: CredentialCache['refresh'],
): CredentialFiles {
  return {
    cacheFile: {
      ...({ version: 1, cluster: name, server: server.endpoint, token, expiry } as const),
      refresh,
    },
    kubeconfigUser: execUser(kubeCredentialCommand),
    needsBroker: false,
    warnings: [],
  };
}

/** The entry that `set-k8s-creds.sh` makes with `kubectl config set-credentials --auth-provider`. */
export function legacyFiles(
  cluster: ClusterSettings,
  settings: OidcSettings,
  { token, refreshToken }: RenewableToken,
): CredentialFiles {
  const kubeconfigUser = {
    'auth-provider': {
      name: 'oidc',
      config: {
        'idp-issuer-url': settings.issuer,
        'client-id': settings.clientId,
        'client-secret':
          settings.clientAuth && 'secret' in settings.clientAuth ? settings.clientAuth.secret : '',
        'refresh-token': refreshToken ?? '',
        'id-token': token,
        ...(settings.caFile !== undefined && { 'idp-certificate-authority': settings.caFile }),
      },
    },
  };
  const message = `cluster ${cluster.name}: credentials.mode: legacy writes the client's secret and the user's refresh token into each user's own kubeconfig`;
  return {
    kubeconfigUser,
    needsBroker: false,
    warnings: [{ code: 'credentials-legacy', message }],
  };
}
