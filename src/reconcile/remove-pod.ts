import { describe, objectPath } from '../desired/kube-object.ts';
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
 * Removes this very pod; one that is gone, also where another has its name by now, is no error. Its name
 * is free at once, and its node ends it then: a session could still begin in a pod that is only on its way
 * out, and would end with it.
 *
 * @throws the `api-…` errors
 */
export async function removePod(client: ApiClient, { name, namespace, uid }: PodId): Promise<void> {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } } as const;
  await deleteObject(client, {
    ...{ what: describe(pod), path: objectPath(pod), preconditions: { uid } },
    gracePeriodSeconds: 0,
  });
}
