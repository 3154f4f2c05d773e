import { setTimeout as sleep } from 'node:timers/promises';
import { mergePullSecrets } from './objects/object-drift.ts';
import { describeObject, type KubeObject, type LiveObject } from './objects/kube-object.ts';
import type { UserObjects } from './objects/user-objects.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import type { ApiClient } from './api-client.ts';
import { apiError, applyError } from './api-errors.ts';
import { ownership } from './ownership.ts';
import { driftedObjects, readObject, readUserObjects } from './read-user-objects.ts';
import { createRequest, hasReferences, stampRequest, writeRequest } from './requests.ts';

export interface ReconcileInput {
  readonly client: ApiClient;
  readonly user: string;
  readonly objects: UserObjects;
  /**
   * Whether this is probably the user's first login on this cluster. It decides only which request is sent
   * first: if it is wrong, the login takes one more round trip.
   */
  readonly expectNew: boolean;
  /** Limits the wait for a namespace that is being deleted. */
  readonly deadline: AbortSignal;
}

export interface ReconcileResult {
  readonly namespace: 'created' | 'adopted' | 'kept';
  /** Objects that were missing or different and have been applied, e.g. `NetworkPolicy u-alice/deny-…`. */
  readonly applied: readonly string[];
}

/** Milliseconds between two reads of a namespace in Terminating. */
const terminatingPoll = 250;

/**
 * Applies `objects` to the cluster. Nothing is written into a namespace that is not known to be this
 * user's. A later login reads everything and, if the owner matches, updates the namespace's annotations in one round
 * trip, then applies the objects that differ. A first login creates the namespace and then applies all of
 * its objects in parallel.
 *
 * Throws `namespace-owned-by-another-user`, `namespace-owner-unknown`, `namespace-terminating` and the
 * `api-…` errors.
 */
export async function reconcileUser(input: ReconcileInput): Promise<ReconcileResult> {
  const { client, objects } = input;
  if (input.expectNew) {
    const created = await createNamespace(client, objects.namespace);
    if (created) return { namespace: 'created', applied: await applyAll(client, objects.members) };
  }
  for (;;) {
    const name = objects.namespace.metadata.name;
    const [stamp, read] = await Promise.all([
      client.send(stampRequest(objects.namespace)),
      readUserObjects(client, name, objects),
    ]);
    if (stamp.status === 200) {
      if (isTerminating(stamp.body as LiveObject)) {
        await gone(input);
        continue;
      }
      return { namespace: 'kept', applied: await applyAll(client, driftedObjects(read.members)) };
    }
    if (stamp.status === 404) {
      if (await createNamespace(client, objects.namespace))
        return { namespace: 'created', applied: await applyAll(client, objects.members) };
      continue;
    }
    if (stamp.status !== 422)
      throw apiError(
        `writing the owner and the identity to ${describeObject(objects.namespace)}`,
        stamp,
      );

    const live = await readObject(client, objects.namespace);
    if (live === undefined) continue;
    if (isTerminating(live)) {
      await gone(input);
      continue;
    }
    const owner = ownership(input.user, live, read.roleBindings);
    if (owner.verdict === 'refused') throw owner.error;
    await applyAll(client, [objects.namespace]);
    return { namespace: 'adopted', applied: await applyAll(client, driftedObjects(read.members)) };
  }
}

/** False if a namespace of that name already exists. */
async function createNamespace(client: ApiClient, namespace: KubeObject): Promise<boolean> {
  const answer = await client.send(createRequest(namespace));
  if (answer.status === 201) return true;
  if (answer.status === 409) return false;
  throw apiError(`creating ${describeObject(namespace)}`, answer);
}

/** Applies all objects in parallel. The first error is thrown after all requests have ended. */
async function applyAll(client: ApiClient, objects: readonly KubeObject[]): Promise<string[]> {
  const outcomes = await Promise.allSettled(
    objects.map(async (object) => {
      await apply(client, object);
      return describeObject(object);
    }),
  );
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused !== undefined) throw refused.reason;
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
}

async function apply(client: ApiClient, object: KubeObject): Promise<void> {
  const answer = await client.send(writeRequest(object));
  if (answer.status === 200 || answer.status === 201) return;
  // Another login created it meanwhile.
  if (answer.status === 409 && object.kind === 'PersistentVolumeClaim') return;
  if (answer.status === 409 && hasReferences(object)) {
    // In a new namespace, another writer was faster with its own references.
    const live = await readObject(client, object);
    if (live?.metadata.resourceVersion !== object.metadata.resourceVersion)
      return apply(client, live === undefined ? object : mergePullSecrets(object, live));
  }
  throw applyError(object, answer);
}

function isTerminating({ metadata }: LiveObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Waits until a namespace in Terminating no longer exists. */
async function gone({ client, objects, deadline }: ReconcileInput): Promise<void> {
  while ((await readObject(client, objects.namespace)) !== undefined) {
    if (deadline.aborted) throw stillTerminating(objects.namespace);
    try {
      await sleep(terminatingPoll, undefined, { signal: deadline });
    } catch {
      throw stillTerminating(objects.namespace);
    }
  }
}

function stillTerminating(namespace: KubeObject): BerthError {
  return new BerthError(
    'namespace-terminating',
    `${describeObject(namespace)} is still being deleted`,
    {
      hint: `To see what blocks its deletion: kubectl get namespace ${namespace.metadata.name} -o jsonpath='{.status.conditions}'. The next login tries again.`,
    },
  );
}
