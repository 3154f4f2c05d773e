import { describe, objectPath } from '../desired/kube-object.ts';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';

/**
 * Removes a pod; one that is gone is no error. Its name is free at once, and its node ends it then: a
 * session could still begin in a pod that is only on its way out, and would end with it.
 *
 * @throws the `api-…` errors
 */
export async function removePod(
  client: ApiClient,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): Promise<void> {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } } as const;
  const path = `${objectPath(pod)}?gracePeriodSeconds=0`;
  const answer = await client.send({ method: 'DELETE', path });
  if (answer.status !== 200 && answer.status !== 202 && answer.status !== 404)
    throw apiError(`removing ${describe(pod)}`, answer);
}
