import { setTimeout as sleep } from 'node:timers/promises';
import { describeObject, objectPath, type ObjectMeta } from './objects/kube-object.ts';
import type { ApiClient } from './api-client.ts';
import { deleteObject } from './delete-object.ts';

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
    ...{ what: describeObject(pod), path: objectPath(pod), preconditions: { uid } },
    gracePeriodSeconds: force ? 0 : 1,
  });
}

/** Milliseconds between two reads. */
const pauseMs = 250;

/**
 * Waits until a deleted pod no longer exists: a session could still start in a terminating pod, and would end
 * with it.
 *
 * @param patienceMs Longest wait in milliseconds, for a node that does not answer.
 * @throws the `api-…` errors
 */
export async function waitForPodDeletion(
  client: ApiClient,
  { name, namespace, uid }: PodId,
  patienceMs: number,
): Promise<void> {
  const pod = { kind: 'Pod', metadata: { name, namespace } } as const;
  const late = performance.now() + patienceMs;
  while (performance.now() < late) {
    const { status, body } = await client.send({ method: 'GET', path: objectPath(pod) });
    const live = body.metadata as ObjectMeta;
    // A pod with a finalizer may exist forever.
    if (status !== 200 || live.uid !== uid || (live.finalizers ?? []).length > 0) return;
    await sleep(pauseMs);
  }
}
