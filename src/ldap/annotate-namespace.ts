import {
  changeOperations,
  type NamespaceChange,
  planNamespaces,
} from './rules/namespace-annotations.ts';
import { collectionPath } from '../desired/kube-object.ts';
import type { LdapUsers } from './rules/ldap-users.ts';
import type { ApiClient } from '../reconcile/api-client.ts';
import { apiError } from '../reconcile/api-errors.ts';
import { objectIfFound } from '../reconcile/read-user-objects.ts';

/**
 * Writes a planned change. If the namespace was changed since it was planned, it is read and planned once
 * more: a login may have made the same change, or the namespace may now belong to another user.
 *
 * @returns The change that was written; undefined if none was left to write.
 * @throws the `api-…` errors
 */
export async function annotateNamespace(
  client: ApiClient,
  planned: NamespaceChange,
  people: LdapUsers,
  now: number,
): Promise<NamespaceChange | undefined> {
  const path = `${collectionPath('Namespace')}/${encodeURIComponent(planned.namespace)}`;
  const patch = (change: NamespaceChange): ReturnType<ApiClient['send']> =>
    client.send({
      method: 'PATCH',
      path: `${path}?fieldManager=berth-ldap-sync`,
      contentType: 'application/json-patch+json',
      body: JSON.stringify(changeOperations(change)),
    });
  const attempted = `writing the LDAP data to the annotations of namespace ${planned.namespace}`;
  const answer = await patch(planned);
  if (answer.status === 200) return planned;
  if (answer.status === 404) return undefined;
  if (answer.status !== 422) throw apiError(attempted, answer);

  const live = objectIfFound(
    await client.send({ method: 'GET', path }),
    `reading ${planned.namespace}`,
  );
  if (live === undefined) return undefined;
  const [change] = planNamespaces([live], people, now).changes;
  if (change?.owner !== planned.owner) return undefined;
  const again = await patch(change);
  if (again.status === 200) return change;
  throw apiError(attempted, again);
}
