import { objectPath, type KubeObject } from '../desired/kube-object.ts';
import type { ApiClient } from '../reconcile/api-client.ts';
import { apiError, applyError } from '../reconcile/api-errors.ts';
import { deleteObject } from '../reconcile/delete-object.ts';
import { applyRequest } from '../reconcile/requests.ts';
import { hostLabel } from '../session/pod-object.ts';

/**
 * The empty Secret in a user's namespace to which the tokens of the user's sessions are bound: when it is
 * deleted, they are dead. Login nodes share it: each has an annotation of its own on it from a user's
 * first connection to the last one there, and the node whose annotation was the only one deletes it.
 */
export interface SessionSecret {
  readonly namespace: string;
  readonly name: string;
  /** Name of this login node. */
  readonly loginHost: string;
}

/** What login nodes write: `login.berth.dev/login1`. */
const prefix = 'login.berth.dev/';

/**
 * Makes it, or says on the one that is there that this node needs it, too.
 *
 * @returns What a token is bound to.
 * @throws the `api-…` errors
 */
export async function holdSecret(
  client: ApiClient,
  secret: SessionSecret,
): Promise<{ readonly name: string; readonly uid: string }> {
  const { namespace, name, loginHost } = secret;
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, annotations: { [annotationOf(secret)]: 'open' } },
  };
  // As one manager, each node would take the others' annotations off.
  const manager = `berth-${hostLabel(loginHost)}`;
  const answer = await client.send(applyRequest(object, { manager }));
  if (answer.status !== 200 && answer.status !== 201) throw applyError(object, answer);
  const { uid } = answer.body.metadata as LiveMetadata;
  return { name, uid };
}

/**
 * Takes this node's word back, and deletes the Secret where no other node has said that it needs it: only
 * as it was seen, so that a login elsewhere in this moment keeps it.
 *
 * @throws the `api-…` errors, where the Secret may still be there
 */
export async function releaseSecret(client: ApiClient, secret: SessionSecret): Promise<void> {
  const { namespace, name } = secret;
  const what = `Secret ${namespace}/${name}`;
  const path = objectPath({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } });
  const answer = await client.send({
    ...{ method: 'PATCH', path, contentType: 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { annotations: { [annotationOf(secret)]: null } } }),
  });
  if (answer.status === 404) return;
  if (answer.status !== 200) throw apiError(`releasing ${what}`, answer);
  const { uid, resourceVersion, annotations = {} } = answer.body.metadata as LiveMetadata;
  if (Object.keys(annotations).some((key) => key.startsWith(prefix))) return;
  await deleteObject(client, { what, path, preconditions: { uid, resourceVersion } });
}

interface LiveMetadata {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function annotationOf({ loginHost }: SessionSecret): string {
  return prefix + hostLabel(loginHost);
}
