import { setTimeout as sleep } from 'node:timers/promises';
import { describe, objectPath, type ObjectMeta } from '../desired/kube-object.ts';
import type { ApiClient } from './api-client.ts';
import { deleteObject } from './delete-object.ts';

/** A name may be another pod's a moment later. */
export interface PodId {
  readonly name: string;
  readonly namespace: string;
  /** Empty is that of none. */
  readonly uid: string;
}

/**
 * Removes this very pod; one that is gone, also where another has its name by now, is no error. Its node has
 * a second for its end, and its name is free when the node says that it is over.
 *
 * @param options.force At once, also where processes of it may run on: its node does not answer.
 * @throws the `api-…` errors
 */
export async function removePod(
  client: ApiClient,
  { name, namespace, uid }: PodId,
  { force = false } = {},
): Promise<void> {
  const pod = { kind: 'Pod', metadata: { name, namespace } } as const;
  await deleteObject(client, {
    ...{ what: describe(pod), path: objectPath(pod), preconditions: { uid } },
    gracePeriodSeconds: force ? 0 : 1,
  });
}

/** Between two looks, in milliseconds. */
const pauseMs = 250;

/**
 * Waits for the end of a pod that was removed, or of the patience: a session could still begin in a pod that
 * is on its way out, and would end with it.
 *
 * @param patienceMs Of a node that does not answer, in milliseconds.
 * @throws the `api-…` errors
 */
export async function podIsGone(
  client: ApiClient,
  { name, namespace, uid }: PodId,
  patienceMs: number,
): Promise<void> {
  const pod = { kind: 'Pod', metadata: { name, namespace } } as const;
  const late = performance.now() + patienceMs;
  while (performance.now() < late) {
    const { status, body } = await client.send({ method: 'GET', path: objectPath(pod) });
    const live = body.metadata as ObjectMeta;
    // One that is held by a finalizer may be there for ever.
    if (status !== 200 || live.uid !== uid || (live.finalizers ?? []).length > 0) return;
    await sleep(pauseMs);
  }
}
