import {
  describeObject,
  objectPath,
  type KubeObject,
  type ObjectMeta,
} from '../../../../kube/objects/kube-object.ts';
import { BerthError } from '../../../../system/errors/berth-error.ts';
import type { ApiClient } from '../../../../kube/api-client.ts';
import { apiError, applyError } from '../../../../kube/api-errors.ts';
import { deleteObject } from '../../../../kube/delete-object.ts';
import { applyRequest } from '../../../../kube/requests.ts';
import {
  removeExpiredClaims,
  writeClaim,
  type ClaimPlace,
  type NamespaceClaims,
} from './node-claims.ts';
import { claimAnnotation, isSecretHeld } from '../objects/node-claim.ts';
import { hostLabel } from '../../../../system/program/session-id.ts';

/*
 * An empty Secret in a user's namespace, to which the tokens of the user's sessions are bound: deleting it invalidates the
 * tokens. Login nodes share it, or have their own. A node deletes it after the user's last connection there, unless
 * another node needs it.
 *
 * Each node that needs it has a claim on the namespace (`node-claim.ts`), from the user's first connection there to the
 * last: the user can write the Secret, but not the namespace. Each node also annotates the Secret, only to change its
 * version: a node that is about to delete it then sees that another node needs it.
 */

/** Attempts to delete the Secret if it keeps changing. */
const attempts = 5;

interface RetainedSecret {
  /** The object to bind a token to. */
  readonly boundTo: { readonly name: string; readonly uid: string };
  /** What the namespace said when it had this node's claim. */
  readonly claims: NamespaceClaims | undefined;
}

/**
 * Writes this node's claim, and creates the Secret if it is missing.
 *
 * @param now milliseconds since the epoch
 * @throws {BerthError} `session-secret-not-deleted`, the `api-…` errors
 */
export async function retainSecret(
  client: ApiClient,
  secret: ClaimPlace,
  now: number,
): Promise<RetainedSecret> {
  const { namespace, name, loginHost } = secret;
  const claims = await writeClaim(client, secret, 'open', now);
  const annotations = { [claimAnnotation(loginHost)]: 'open' };
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, annotations },
  };
  // With a common field manager, each node would remove the annotations of the others.
  const manager = `berth-${hostLabel(loginHost)}`;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const answer = await client.send(applyRequest(object, { manager }));
    if (answer.status !== 200 && answer.status !== 201) throw applyError(object, answer);
    const { uid, deletionTimestamp } = answer.body.metadata as LiveMetadata;
    if (deletionTimestamp === undefined) return { boundTo: { name, uid }, claims };
    // It was deleted but a finalizer of the user keeps it. Tokens bound to it are invalid.
    await patch(client, objectPath(object), { finalizers: null, uid });
  }
  throw new BerthError(
    'session-secret-not-deleted',
    `creating ${describeObject(object)}: the deleted one still exists: its finalizers were removed ${attempts} times and were added again`,
    {
      hint: `Find who writes metadata.finalizers: \`kubectl get secret ${name} --namespace ${namespace} --show-managed-fields -o yaml\`. The next login tries again.`,
    },
  );
}

/**
 * Removes this node's claim, and deletes the Secret if no other node has a valid one. It is deleted only in the version
 * that was read, so that a login on another node at the same moment keeps it.
 *
 * @param options.now milliseconds since the epoch
 * @param options.closed when the user's last connection to this node closed, if it closed now
 * @throws {BerthError} the `api-…` errors; the Secret may then still exist
 */
export async function releaseSecret(
  client: ApiClient,
  secret: ClaimPlace,
  { now, closed }: { readonly now: number; readonly closed?: number | undefined },
): Promise<void> {
  const { namespace, name, loginHost } = secret;
  const unmarked = { annotations: { [claimAnnotation(loginHost)]: null }, finalizers: null };
  const what = `Secret ${namespace}/${name}`;
  const path = objectPath({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } });
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    // A finalizer, which the user may have added, would keep it.
    const seen = await patch(client, path, unmarked);
    const claims = await writeClaim(client, secret, undefined, now, { closed });
    if (claims !== undefined) await removeExpiredClaims(client, secret, claims, now);
    if (seen === undefined || (claims !== undefined && isSecretHeld(claims, name))) return;
    const { uid, resourceVersion } = seen;
    // The last attempt ignores changes without an annotation on the namespace: only the user can make those.
    const preconditions = attempt < attempts ? { uid, resourceVersion } : { uid };
    if (await deleteObject(client, { what, path, preconditions })) return;
  }
}

type LiveMetadata = ObjectMeta & { readonly uid: string; readonly resourceVersion: string };

/**
 * @param metadata with a `uid`, only the object with that UID is changed
 * @returns the metadata of the object after the change; undefined if it does not exist
 */
async function patch(
  client: ApiClient,
  path: string,
  metadata: object,
): Promise<LiveMetadata | undefined> {
  const answer = await client.send({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ metadata }),
  });
  if (answer.status === 404 || ('uid' in metadata && answer.status === 409)) return undefined;
  if (answer.status !== 200) throw apiError(`writing which login nodes need ${path}`, answer);
  return answer.body.metadata as LiveMetadata;
}
