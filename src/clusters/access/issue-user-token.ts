import type { ClusterSettings } from '../../config/schema/settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { namespaceOf } from '../../kube/objects/user-names.ts';
import { withApiClient, type ApiClient } from '../../kube/api-client.ts';
import { ownership } from '../../kube/ownership.ts';
import { readObject } from '../../kube/read-user-objects.ts';
import { requestToken, type IssuedToken } from '../../kube/request-token.ts';
import { hookAccess, type HookAccessDeps } from './hook-access.ts';

export interface IssueDeps extends HookAccessDeps {
  /** True if this login has checked that the namespace is the user's; else it is checked here. */
  readonly owned: boolean;
}

/**
 * A short-lived token of the user's own ServiceAccount, for sites without an identity provider.
 *
 * Two user names can map to one namespace, and the account has the same name in all namespaces: so the
 * namespace's owner is checked.
 *
 * @throws {BerthError} `namespace-missing`, `namespace-owned-by-another-user`, `namespace-owner-unknown`,
 *   and what `hookAccess` and `requestToken` throw
 */
export async function issueUserToken(
  cluster: ClusterSettings,
  user: { readonly name: string },
  deps: IssueDeps,
): Promise<IssuedToken> {
  const { credentials } = cluster;
  if (credentials.mode !== 'service-account')
    throw new BerthError(
      'internal-error',
      `cluster ${cluster.name} does not give ServiceAccount tokens to users`,
    );
  const namespace = namespaceOf(cluster.namespacePrefix, user.name);
  return withApiClient(await hookAccess(cluster, deps), deps.deadline, async (client) => {
    if (!deps.owned) await assertOwned(client, namespace, user.name);
    return requestToken(client, {
      namespace,
      account: credentials.name,
      lifetimeSeconds: credentials.lifetimeSeconds,
    });
  });
}

async function assertOwned(client: ApiClient, namespace: string, user: string): Promise<void> {
  const object = { kind: 'Namespace', metadata: { name: namespace } } as const;
  const live = await readObject(client, object);
  if (live === undefined)
    throw new BerthError(
      'namespace-missing',
      `namespace ${namespace} does not exist, so no token can be issued`,
      {
        hint: 'The hook creates the namespace: run pre-pun, or run k8s-bootstrap before set-k8s-creds.',
      },
    );
  const owner = ownership(user, live, []);
  if (owner.verdict === 'refused') throw owner.error;
}
