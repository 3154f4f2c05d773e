import { setTimeout as sleep } from 'node:timers/promises';
import { keepReferences } from '../desired/drift.ts';
import { describe, type KubeObject, type LiveObject } from '../desired/kube-object.ts';
import type { UserObjects } from '../desired/user-objects.ts';
import { BerthError } from '../errors.ts';
import type { ApiClient } from './api-client.ts';
import { apiError, applyError } from './api-errors.ts';
import { ownership } from './ownership.ts';
import { drifted, found, readMembers } from './read-members.ts';
import {
  applyRequest,
  createRequest,
  getRequest,
  hasReferences,
  stampRequest,
} from './requests.ts';

export interface ReconcileInput {
  readonly client: ApiClient;
  readonly user: string;
  readonly objects: UserObjects;
  /**
   * Whether this user was seen on this cluster before. A guess that only decides what is asked
   * first: when it is wrong, the login costs one round trip more.
   */
  readonly expectNew: boolean;
  /** Ends the wait for a namespace that is being deleted. */
  readonly deadline: AbortSignal;
}

export interface ReconcileResult {
  readonly namespace: 'created' | 'adopted' | 'kept';
  /** What was missing or different and is now as wanted, e.g. `NetworkPolicy u-alice/deny-…`. */
  readonly applied: readonly string[];
}

/** Milliseconds between looks at a namespace in Terminating. */
const terminatingPoll = 250;

/**
 * Makes the cluster what `objects` say. Nothing is written into a namespace before it is known to
 * be this user's: a later login reads everything and stamps the namespace, on that condition, in one
 * round trip, and applies only what drifted; a first login creates the namespace and then applies
 * all of its objects at once.
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
      readMembers(client, name, objects.members),
    ]);
    if (stamp.status === 200) {
      if (isTerminating(stamp.body as LiveObject)) {
        await gone(input);
        continue;
      }
      return { namespace: 'kept', applied: await applyAll(client, drifted(read.members)) };
    }
    if (stamp.status === 404) {
      if (await createNamespace(client, objects.namespace))
        return { namespace: 'created', applied: await applyAll(client, objects.members) };
      continue;
    }
    if (stamp.status !== 422) throw apiError(`stamping ${describe(objects.namespace)}`, stamp);

    const live = await readNamespace(client, objects.namespace);
    if (live === undefined) continue;
    if (isTerminating(live)) {
      await gone(input);
      continue;
    }
    const owner = ownership(input.user, live, read.roleBindings);
    if (owner.verdict === 'refused') throw owner.error;
    await applyAll(client, [objects.namespace]);
    return { namespace: 'adopted', applied: await applyAll(client, drifted(read.members)) };
  }
}

/** False where a namespace of that name exists already. */
async function createNamespace(client: ApiClient, namespace: KubeObject): Promise<boolean> {
  const answer = await client.send(createRequest(namespace));
  if (answer.status === 201) return true;
  if (answer.status === 409) return false;
  throw apiError(`creating ${describe(namespace)}`, answer);
}

async function readNamespace(
  client: ApiClient,
  namespace: KubeObject,
): Promise<LiveObject | undefined> {
  return found(await client.send(getRequest(namespace)), `reading ${describe(namespace)}`);
}

/** Applies all at once. Every object is tried; the first refusal is thrown when all are answered. */
async function applyAll(client: ApiClient, objects: readonly KubeObject[]): Promise<string[]> {
  const outcomes = await Promise.allSettled(
    objects.map(async (object) => {
      await apply(client, object);
      return describe(object);
    }),
  );
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused !== undefined) throw refused.reason;
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
}

async function apply(client: ApiClient, object: KubeObject): Promise<void> {
  const answer = await client.send(applyRequest(object));
  if (answer.status === 200 || answer.status === 201) return;
  if (answer.status === 409 && hasReferences(object)) {
    // In a new namespace, somebody else was faster with references of their own.
    const live = found(await client.send(getRequest(object)), `reading ${describe(object)}`);
    if (live?.metadata.resourceVersion !== object.metadata.resourceVersion)
      return apply(client, live === undefined ? object : keepReferences(object, live));
  }
  throw applyError(object, answer);
}

function isTerminating({ metadata }: LiveObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Waits until a namespace in Terminating is gone. */
async function gone({ client, objects, deadline }: ReconcileInput): Promise<void> {
  while ((await readNamespace(client, objects.namespace)) !== undefined) {
    if (deadline.aborted) throw stillTerminating(objects.namespace);
    try {
      await sleep(terminatingPoll, undefined, { signal: deadline });
    } catch {
      throw stillTerminating(objects.namespace);
    }
  }
}

function stillTerminating(namespace: KubeObject): BerthError {
  return new BerthError(`${describe(namespace)} is being deleted and was not gone in time`, {
    code: 'namespace-terminating',
    exit: 'temporary',
    hint: `See what holds it: kubectl get namespace ${namespace.metadata.name} -o jsonpath='{.status.conditions}'. The next login tries again.`,
  });
}
