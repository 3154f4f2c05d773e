import { setTimeout as sleep } from 'node:timers/promises';
import type { V1DeleteOptions, V1Preconditions } from '@kubernetes/client-node';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';
import {
  describeObject,
  type KubeJson,
  type ObjectMeta,
  objectPath,
} from './objects/kube-object.ts';

export interface DeleteTarget {
  /** `pod u-alice/jupyter`, for messages. */
  readonly what: string;
  readonly path: string;
  /** Delete only the object with this UID and, if given, this version. */
  readonly preconditions: KubeJson<V1Preconditions> & { readonly uid: string };
  /** Grace period of a pod; the pod's own if absent. */
  readonly gracePeriodSeconds?: number;
}

/**
 * Deletes one object. False if it no longer exists, or does not meet the preconditions.
 *
 * @throws the `api-…` errors
 */
export async function deleteObject(client: ApiClient, target: DeleteTarget): Promise<boolean> {
  const { preconditions, gracePeriodSeconds } = target;
  const answer = await client.send({
    method: 'DELETE',
    path: target.path,
    contentType: 'application/json',
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      preconditions,
      gracePeriodSeconds,
    } satisfies KubeJson<V1DeleteOptions>),
  });
  if (answer.status === 404 || answer.status === 409) return false;
  if (answer.status !== 200 && answer.status !== 202)
    throw apiError(`deleting ${target.what}`, answer);
  return true;
}

/** Identifies a pod: its name can be reused. */
export interface PodId {
  readonly name: string;
  readonly namespace: string;
  /** An empty one matches no pod. */
  readonly uid: string;
}

/**
 * Deletes the pod with this UID; if it no longer exists, that is not an error. Its grace period is one second, and
 * its name is free when the node has ended it.
 *
 * @param options.force Deletes the object at once, even though its processes may go on: for an unreachable node.
 * @throws the `api-…` errors
 */
export async function deletePod(
  client: ApiClient,
  { name, namespace, uid }: PodId,
  { force = false } = {},
): Promise<void> {
  const pod = { kind: 'Pod', metadata: { name, namespace } } as const;
  await deleteObject(client, {
    what: describeObject(pod),
    path: objectPath(pod),
    preconditions: { uid },
    gracePeriodSeconds: force ? 0 : 1,
  });
}

/** Milliseconds between two reads. */
const pauseMs = 250;

/**
 * Waits until a deleted pod no longer exists: a session could still start in a terminating pod, and would end
 * with it.
 *
 * @param timeoutMs Longest wait in milliseconds, for a node that does not answer.
 * @throws the `api-…` errors
 */
export async function waitForPodDeletion(
  client: ApiClient,
  { name, namespace, uid }: PodId,
  timeoutMs: number,
): Promise<void> {
  const pod = { kind: 'Pod', metadata: { name, namespace } } as const;
  const late = performance.now() + timeoutMs;
  while (performance.now() < late) {
    const { status, body } = await client.send({ method: 'GET', path: objectPath(pod) });
    const live = body.metadata as ObjectMeta;
    // A pod with a finalizer may exist forever.
    if (status !== 200 || live.uid !== uid || (live.finalizers ?? []).length > 0) return;
    await sleep(pauseMs);
  }
}
