import type { CoreV1Event, V1ObjectReference } from '@kubernetes/client-node';
import type { KubeJson } from '../../kube/objects/kube-object.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';

export interface EventInput {
  readonly about: KubeJson<V1ObjectReference> & { readonly name: string };
  /** Namespace of the event: `default` for a cluster-scoped object. */
  readonly namespace: string;
  readonly reason: string;
  readonly message: string;
  /** Seconds since the epoch. */
  readonly now: number;
}

/**
 * Records an event that says why an object was deleted, for `kubectl get events` and OnDemand.
 *
 * @throws the `api-…` errors
 */
export async function recordEvent(client: ApiClient, event: EventInput): Promise<void> {
  const time = new Date(event.now * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  const answer = await client.send({
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(event.namespace)}/events`,
    contentType: 'application/json',
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: 'berth-reap-', namespace: event.namespace },
      involvedObject: event.about,
      reason: event.reason,
      message: event.message,
      type: 'Normal',
      source: { component: 'berth-reap' },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    } satisfies KubeJson<CoreV1Event>),
  });
  if (answer.status !== 201) throw apiError(`recording an event for ${event.about.name}`, answer);
}
