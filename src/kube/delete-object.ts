import type { V1DeleteOptions, V1Preconditions } from '@kubernetes/client-node';
import type { KubeJson } from './objects/kube-json.ts';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';

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
      ...{ apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' },
      preconditions,
      gracePeriodSeconds,
    } satisfies KubeJson<V1DeleteOptions>),
  });
  if (answer.status === 404 || answer.status === 409) return false;
  if (answer.status !== 200 && answer.status !== 202)
    throw apiError(`deleting ${target.what}`, answer);
  return true;
}

/**
 * Deletes all objects with a label without reading them, as is needed for Secrets.
 *
 * @returns The number of deleted objects.
 * @throws the `api-…` errors
 */
export async function deleteByLabel(
  client: ApiClient,
  path: string,
  labelSelector: string,
): Promise<number> {
  const answer = await client.send({
    method: 'DELETE',
    path: `${path}?${new URLSearchParams({ labelSelector }).toString()}`,
    accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
  });
  if (answer.status !== 200) throw apiError(`deleting what is ${labelSelector} at ${path}`, answer);
  const { items } = answer.body as { readonly items?: readonly unknown[] };
  return items?.length ?? 0;
}
