import { describe, objectPath } from '../desired/kube-object.ts';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';

/**
 * Removes a pod; one that is gone is no error.
 *
 * @param query Of the request, such as `?gracePeriodSeconds=0`.
 * @throws the `api-…` errors
 */
export async function removePod(
  client: ApiClient,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  query = '',
): Promise<void> {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } } as const;
  const answer = await client.send({ method: 'DELETE', path: `${objectPath(pod)}${query}` });
  if (answer.status !== 200 && answer.status !== 202 && answer.status !== 404)
    throw apiError(`removing ${describe(pod)}`, answer);
}
