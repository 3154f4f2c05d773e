import {
  collectionPath,
  describe,
  objectPath,
  type KubeObject,
} from '../../desired/kube-object.ts';
import { BerthError } from '../../errors.ts';
import type { ApiClient } from '../../reconcile/api-client.ts';
import { apiError, applyError } from '../../reconcile/api-errors.ts';
import { deleteObject } from '../../reconcile/delete-object.ts';
import { applyRequest } from '../../reconcile/requests.ts';
import { hostLabel } from './objects/pod-object.ts';

/**
 * The empty Secret in a user's namespace to which the tokens of the user's sessions are bound: when it is
 * deleted, they are dead. Login nodes share it, and the one whose user's last connection is over deletes it
 * where no other needs it.
 *
 * Which nodes need it is said on the namespace, an annotation for each from a user's first connection to the
 * last one there: the Secret is the user's to write, the namespace is not. Each writes the same on the
 * Secret, only so that its version changes: who is about to delete it then sees that somebody came.
 */
export interface SessionSecret {
  readonly namespace: string;
  readonly name: string;
  /** Name of this login node. */
  readonly loginHost: string;
}

/** What login nodes write: `login.berth.dev/login1`. */
const prefix = 'login.berth.dev/';

/** A user who changes the Secret all the time only makes its end take longer. */
const attempts = 5;

/**
 * Makes it, or says that this node needs the one that is there, too.
 *
 * @returns What a token is bound to.
 * @throws the `api-…` errors
 */
export async function holdSecret(
  client: ApiClient,
  secret: SessionSecret,
): Promise<{ readonly name: string; readonly uid: string }> {
  const { namespace, name, loginHost } = secret;
  await annotate(client, namespacePath(secret), secret, 'open');
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, annotations: { [annotationOf(secret)]: 'open' } },
  };
  // As one manager, each node would take the others' annotations off.
  const manager = `berth-${hostLabel(loginHost)}`;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const answer = await client.send(applyRequest(object, { manager }));
    if (answer.status !== 200 && answer.status !== 201) throw applyError(object, answer);
    const { uid, deletionTimestamp } = answer.body.metadata as LiveMetadata;
    if (deletionTimestamp === undefined) return { name, uid };
    // A finalizer of the user's holds what was deleted: tokens that are bound to that are dead.
    await patch(client, objectPath(object), { finalizers: null, uid });
  }
  throw new BerthError(
    `creating ${describe(object)}: the deleted one still exists; its finalizers were removed ${attempts} times and are there again`,
    {
      code: 'session-secret-not-deleted',
      exit: 'temporary',
      hint: `Find who writes metadata.finalizers: kubectl get secret ${name} --namespace ${namespace} --show-managed-fields -o yaml. The next login tries again.`,
    },
  );
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
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    // With a finalizer, which the user may have put there, it would stay.
    const seen = await patch(client, path, { ...word(secret, null), finalizers: null });
    const holders = await annotate(client, namespacePath(secret), secret, null);
    const isHeld = Object.keys(holders?.annotations ?? {}).some((key) => key.startsWith(prefix));
    if (seen === undefined || isHeld) return;
    const { uid, resourceVersion } = seen;
    // At last whoever changed it without a word on the namespace, which is the user, is not listened to.
    const preconditions = attempt < attempts ? { uid, resourceVersion } : { uid };
    if (await deleteObject(client, { what, path, preconditions })) return;
  }
}

interface LiveMetadata {
  readonly deletionTimestamp?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** @returns The object's metadata after it; nothing where there is no such object. */
function annotate(
  client: ApiClient,
  path: string,
  secret: SessionSecret,
  value: 'open' | null,
): Promise<LiveMetadata | undefined> {
  return patch(client, path, word(secret, value));
}

function word(secret: SessionSecret, value: 'open' | null): object {
  return { annotations: { [annotationOf(secret)]: value } };
}

/** @param metadata With a `uid`, of that object only: another one of the name is none. */
async function patch(
  client: ApiClient,
  path: string,
  metadata: object,
): Promise<LiveMetadata | undefined> {
  const answer = await client.send({
    ...{ method: 'PATCH', path, contentType: 'application/merge-patch+json' },
    body: JSON.stringify({ metadata }),
  });
  if (answer.status === 404 || ('uid' in metadata && answer.status === 409)) return undefined;
  if (answer.status !== 200) throw apiError(`writing which login nodes need ${path}`, answer);
  return answer.body.metadata as LiveMetadata;
}

function namespacePath({ namespace }: SessionSecret): string {
  return `${collectionPath('Namespace')}/${encodeURIComponent(namespace)}`;
}

function annotationOf({ loginHost }: SessionSecret): string {
  return prefix + hostLabel(loginHost);
}
