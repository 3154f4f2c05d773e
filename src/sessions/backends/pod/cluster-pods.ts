import { objectPath } from '../../../kube/objects/kube-object.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import type { ApiClient } from '../../../kube/api-client.ts';
import { deleteObject, type PodId, waitForPodDeletion } from '../../../kube/delete-object.ts';
import { readPod } from './read-pod.ts';

/** Quotas do not count those that have ended, so that a user could make any number of them. */
export const notEndedPods = 'status.phase!=Succeeded,status.phase!=Failed';

/** How long the node of a pod may take to end it. Milliseconds. */
const timeoutMs = 30_000;

/**
 * Deletes a pod and waits for its end.
 *
 * @returns whether it was still there
 * @throws {BerthError} `session-not-ended`, the `api-…` errors
 */
export async function endPod(client: ApiClient, pod: PodId): Promise<boolean> {
  const { namespace, name, uid } = pod;
  const what = `pod ${namespace}/${name}`;
  const path = objectPath({ kind: 'Pod', metadata: { name, namespace } });
  const how = { preconditions: { uid }, gracePeriodSeconds: 1 };
  if (!(await deleteObject(client, { what, path, ...how }))) return false;
  await waitForPodDeletion(client, pod, timeoutMs);
  if ((await readPod(client, pod))?.metadata?.uid === uid)
    throw new BerthError('session-not-ended', `${what} is deleted, but still exists`);
  return true;
}
