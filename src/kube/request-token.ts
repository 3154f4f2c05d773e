import type { ApiServer } from './api-server.ts';
import type { V1TokenRequestStatus } from '@kubernetes/client-node';
import { collectionPath, type KubeJson } from './objects/kube-object.ts';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';

export interface TokenRequest {
  readonly namespace: string;
  /** The ServiceAccount. */
  readonly account: string;
  /** The API server may grant less, or more: its minimum is ten minutes. */
  readonly lifetimeSeconds: number;
  /** The Secret whose deletion invalidates the token. */
  readonly boundTo?: { readonly name: string; readonly uid: string };
}

export interface IssuedToken {
  readonly token: string;
  /** Seconds since the epoch. */
  readonly expiry: number;
}

/**
 * A ServiceAccount's token by the TokenRequest API (`authentication.k8s.io/v1`), for the API
 * server's own audience. Throws the `api-…` errors.
 */
export async function requestToken(
  client: ApiClient,
  { namespace, account, lifetimeSeconds, boundTo }: TokenRequest,
): Promise<IssuedToken> {
  const answer = await client.send({
    method: 'POST',
    path: `${collectionPath('ServiceAccount', namespace)}/${encodeURIComponent(account)}/token`,
    contentType: 'application/json',
    body: JSON.stringify({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds: lifetimeSeconds,
        ...(boundTo && { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', ...boundTo } }),
      },
    }),
  });
  if (answer.status !== 201)
    throw apiError(`requesting a token of ServiceAccount ${namespace}/${account}`, answer);
  const { token, expirationTimestamp } = answer.body.status as Required<
    KubeJson<V1TokenRequestStatus>
  >;
  return { token, expiry: Math.floor(Date.parse(expirationTimestamp) / 1000) };
}

/** The same API server, with a token in place of all other credentials. */
export function serverWithToken(server: ApiServer, token: string): ApiServer {
  const { url, ca, tlsServerName, insecureSkipTlsVerify } = server;
  return { url, token, ca, tlsServerName, insecureSkipTlsVerify };
}
