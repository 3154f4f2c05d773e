import type { ApiClient } from '../reconcile/api-client.ts';
import type { ObjectMeta } from '../desired/kube-object.ts';
import { apiError } from '../reconcile/api-errors.ts';

/**
 * The API server's clock: ages are reckoned by it, as it wrote the times that they begin with. A host
 * whose clock is an hour ahead would end everybody's pods an hour early.
 *
 * @returns Seconds since the epoch now, at each call.
 * @throws the `api-…` errors
 */
export async function serverClock(client: ApiClient): Promise<() => number> {
  const answer = await client.send({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    contentType: 'application/json',
    body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
  });
  if (answer.status !== 201) throw apiError('asking the API server for its time', answer);
  const { creationTimestamp } = answer.body.metadata as Required<
    Pick<ObjectMeta, 'creationTimestamp'>
  >;
  const then = Date.parse(creationTimestamp) / 1000;
  const started = performance.now();
  return () => then + (performance.now() - started) / 1000;
}
