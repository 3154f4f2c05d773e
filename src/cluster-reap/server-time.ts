import type { ApiClient } from '../reconcile/api-client.ts';
import type { ObjectMeta } from '../desired/kube-object.ts';
import { apiError } from '../reconcile/api-errors.ts';

/**
 * The API server's clock. Ages are computed with it, since it wrote the creation times: a host whose
 * clock is an hour ahead would delete all pods an hour early.
 *
 * @returns A function that returns the present time in seconds since the epoch.
 * @throws the `api-…` errors
 */
export async function serverClock(client: ApiClient): Promise<() => number> {
  const answer = await client.send({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    contentType: 'application/json',
    body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
  });
  if (answer.status !== 201) throw apiError('reading the time of the API server', answer);
  const { creationTimestamp } = answer.body.metadata as Required<
    Pick<ObjectMeta, 'creationTimestamp'>
  >;
  const then = Date.parse(creationTimestamp) / 1000;
  const started = performance.now();
  return () => then + (performance.now() - started) / 1000;
}
