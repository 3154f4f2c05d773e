import { setTimeout as sleep } from 'node:timers/promises';
import { collectionPath, type ObjectMeta } from '../../../../kube/objects/kube-object.ts';
import type { ApiClient } from '../../../../kube/api-client.ts';
import { apiError } from '../../../../kube/api-errors.ts';
import {
  claimAnnotation,
  claimText,
  isClosingElsewhere,
  lastClosed,
  lastClosedAnnotation,
  otherClaims,
  type NodeClaim,
  type OtherClaims,
} from '../objects/node-claim.ts';

/** Where a login node writes its claim: `node-claim.ts`. */
export interface ClaimPlace {
  /** The user's. */
  readonly namespace: string;
  /** Name of the Secret to which this node's tokens are bound. */
  readonly name: string;
  /** Hostname of this login node. */
  readonly loginHost: string;
}

/** What the namespace says about the user's connections to other login nodes. */
export interface NamespaceClaims extends OtherClaims {
  /** When the user's last connection to any node closed. Milliseconds since the epoch. */
  readonly lastClosed: number | undefined;
  readonly resourceVersion: string;
}

/**
 * Writes this node's claim. The API server orders the changes: of two nodes that write one and read the answer, at least
 * one sees the other's.
 *
 * @param state undefined removes it
 * @param options.closed when a connection of the user closed, in milliseconds since the epoch
 * @param now milliseconds since the epoch
 * @returns the claims after it; undefined if the namespace does not exist
 * @throws {BerthError} the `api-…` errors
 */
export async function writeClaim(
  client: ApiClient,
  place: ClaimPlace,
  state: NodeClaim['state'] | undefined,
  now: number,
  { closed }: { readonly closed?: number | undefined } = {},
): Promise<NamespaceClaims | undefined> {
  const text = state === undefined ? null : claimText(state, place.name, now);
  const annotations = {
    [claimAnnotation(place.loginHost)]: text,
    ...(closed !== undefined && { [lastClosedAnnotation]: String(Math.floor(closed / 1000)) }),
  };
  return await patch(client, place, { annotations }, now);
}

/** Reads the claims. Parameters, result and errors as for `writeClaim`. */
export async function readClaims(
  client: ApiClient,
  place: ClaimPlace,
  now: number,
): Promise<NamespaceClaims | undefined> {
  const path = namespacePath(place);
  const answer = await client.send({ method: 'GET', path });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw apiError(`reading which login nodes use ${path}`, answer);
  return claimsOf(answer.body.metadata as ObjectMeta, place, now);
}

/**
 * Removes the expired claims of nodes that are gone, unless the namespace has changed.
 *
 * @throws as `writeClaim`
 */
export async function removeExpiredClaims(
  client: ApiClient,
  place: ClaimPlace,
  { expired, resourceVersion }: NamespaceClaims,
  now: number,
): Promise<void> {
  if (expired.length === 0) return;
  const annotations = Object.fromEntries(expired.map((host) => [claimAnnotation(host), null]));
  await patch(client, place, { annotations, resourceVersion }, now);
}

/** Interval between two reads. Milliseconds. */
const everyMs = 200;

/**
 * Waits while another node deletes the pods that all nodes share: a session that starts in one of them would end with it.
 *
 * @param claims the answer to `writeClaim`
 * @param options.timeoutMs at most, for a node that fails meanwhile
 * @param options.now returns milliseconds since the epoch
 * @throws as `readClaims`
 */
export async function untilNotClosing(
  client: ApiClient,
  place: ClaimPlace,
  claims: NamespaceClaims | undefined,
  { timeoutMs, now }: { readonly timeoutMs: number; readonly now: () => number },
): Promise<void> {
  const end = performance.now() + timeoutMs;
  let last = claims;
  while (last !== undefined && isClosingElsewhere(last, now()) && performance.now() < end) {
    await sleep(everyMs);
    last = await readClaims(client, place, now());
  }
}

/** @returns undefined if the namespace does not exist, or no longer has the `resourceVersion` */
async function patch(
  client: ApiClient,
  place: ClaimPlace,
  metadata: object,
  now: number,
): Promise<NamespaceClaims | undefined> {
  const path = namespacePath(place);
  const answer = await client.send({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ metadata }),
  });
  if (answer.status === 404) return undefined;
  if (answer.status === 409 && 'resourceVersion' in metadata) return undefined;
  if (answer.status !== 200) throw apiError(`writing which login nodes use ${path}`, answer);
  return claimsOf(answer.body.metadata as ObjectMeta, place, now);
}

function claimsOf(metadata: ObjectMeta, { loginHost }: ClaimPlace, now: number): NamespaceClaims {
  const { annotations = {} } = metadata;
  const { resourceVersion = '' } = metadata as { readonly resourceVersion?: string };
  return {
    ...otherClaims(annotations, loginHost, now),
    lastClosed: lastClosed(annotations),
    resourceVersion,
  };
}

function namespacePath({ namespace }: ClaimPlace): string {
  return `${collectionPath('Namespace')}/${encodeURIComponent(namespace)}`;
}
