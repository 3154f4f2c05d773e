import type { ClusterSettings } from '../config/settings.ts';
import { BerthError } from '../errors.ts';
import { namespaceOf } from '../identity/names.ts';
import { apiClient } from '../reconcile/api-client.ts';
import { requestToken, type IssuedToken } from '../reconcile/request-token.ts';
import { adminAccess, type AccessDeps } from './admin-access.ts';

/**
 * A short-lived token of the user's own ServiceAccount, for sites without an identity provider.
 *
 * @throws {BerthError} what `adminAccess` and `requestToken` throw
 */
export async function mintUserToken(
  cluster: ClusterSettings,
  user: { readonly name: string },
  deps: AccessDeps,
): Promise<IssuedToken> {
  const { credentials } = cluster;
  if (credentials.mode !== 'service-account')
    throw new BerthError(`cluster ${cluster.name} does not give ServiceAccount tokens to users`, {
      code: 'mint-missing',
      exit: 'software',
      hint: 'This is a defect of Berth: report it with this line.',
    });
  const client = apiClient(await adminAccess(cluster, deps), deps.deadline);
  try {
    return await requestToken(client, {
      namespace: namespaceOf(cluster.namespacePrefix, user.name),
      account: credentials.name,
      lifetimeSeconds: credentials.lifetimeSeconds,
    });
  } finally {
    client.close();
  }
}
