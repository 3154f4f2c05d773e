import type { ApiClient } from './api-client.ts';
import { applyError } from './api-errors.ts';
import { describeObject, type KubeObject, type LiveObject } from './objects/kube-object.ts';
import { differs } from './objects/object-drift.ts';
import { annotations } from './objects/well-known-names.ts';
import { ownership } from './ownership.ts';
import { readObject, readUserObjects } from './read-user-objects.ts';
import type { ReconcileInput } from './reconcile-user.ts';
import { createRequest, writeRequest } from './requests.ts';

/** One object or file as it is and as a login would leave it, secrets redacted in both. */
export interface PlannedChange {
  /** `NetworkPolicy u-alice/deny-from-other-namespaces`, or a file's path. */
  readonly what: string;
  readonly action: 'create' | 'update' | 'none';
  /** An object, or a file's text. */
  readonly before?: unknown;
  readonly after?: unknown;
}

/**
 * What `reconcileUser` would do with the same objects, by server-side dry run on the cluster, so that
 * defaults and admission are included. Nothing is changed. In a namespace that does not exist yet a dry
 * run is not possible: its objects are shown as they would be sent. In one that will be taken over, so are its RoleBindings.
 *
 * Throws what `reconcileUser` throws.
 */
export async function planUser({
  client,
  user,
  objects,
}: Pick<ReconcileInput, 'client' | 'user' | 'objects'>): Promise<readonly PlannedChange[]> {
  const { namespace, members } = objects;
  const live = await readObject(client, namespace);
  if (live === undefined) {
    const created = await dryRun(client, namespace, createRequest(namespace, { dryRun: true }));
    return [
      change(namespace, undefined, created),
      ...members.map((member) => change(member, undefined, member as unknown as LiveObject)),
    ];
  }
  const read = await readUserObjects(client, namespace.metadata.name, objects);
  const owner = ownership(user, live, read.roleBindings);
  if (owner.verdict === 'refused') throw owner.error;
  return Promise.all(
    [{ desired: keepStamp(namespace, live), live }, ...read.members].map(
      async ({ desired, live: before }) => {
        // Objects that would not be sent are not tried either.
        if (before !== undefined && !differs(desired, before))
          return change(desired, before, before);
        // The guard policy asks for the owner on the namespace, which the login writes first.
        if (owner.verdict === 'adoptable' && desired.kind === 'RoleBinding')
          return change(desired, before, asSent(desired, before));
        return change(
          desired,
          before,
          await dryRun(client, desired, writeRequest(desired, { dryRun: true })),
        );
      },
    ),
  );
}

function asSent(desired: KubeObject, before: LiveObject | undefined): LiveObject {
  const metadata = { ...before?.metadata, ...desired.metadata };
  return { ...before, ...desired, metadata };
}

async function dryRun(
  client: ApiClient,
  object: KubeObject,
  request: ReturnType<typeof writeRequest>,
): Promise<LiveObject> {
  const answer = await client.send(request);
  if (answer.status !== 200 && answer.status !== 201) throw applyError(object, answer);
  return answer.body as LiveObject;
}

function change(
  desired: KubeObject,
  before: LiveObject | undefined,
  after: LiveObject,
): PlannedChange {
  const shown = maskSecretValues(
    before && withoutManagedFields(before),
    withoutManagedFields(after),
  );
  const same =
    before !== undefined &&
    JSON.stringify(withoutManagedFields(before)) === JSON.stringify(withoutManagedFields(after));
  return {
    what: describeObject(desired),
    action: before === undefined ? 'create' : same ? 'none' : 'update',
    before: shown.before,
    after: shown.after,
  };
}

/** Every login updates the timestamp, so that alone is not shown as a change. */
function keepStamp(namespace: KubeObject, live: LiveObject): KubeObject {
  const stamp = live.metadata.annotations?.[annotations.lastHookExecution];
  if (stamp === undefined) return namespace;
  return {
    ...namespace,
    metadata: {
      ...namespace.metadata,
      annotations: {
        ...namespace.metadata.annotations,
        [annotations.lastHookExecution]: stamp,
      },
    },
  };
}

/** Fields that the API server manages, which are not shown in a diff. */
const serverFields = ['managedFields', 'resourceVersion', 'uid', 'creationTimestamp', 'generation'];

/** Annotation with the copy of an object that `kubectl apply` sent, which includes a Secret's contents. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** The object without the fields that the API server manages and without kubectl's copy. */
function withoutManagedFields(object: LiveObject): LiveObject {
  const { annotations, ...metadata } = without(object.metadata, serverFields);
  return {
    ...without(object, ['status']),
    metadata: {
      ...metadata,
      ...(annotations !== undefined && {
        annotations: without(annotations as object, [lastApplied]),
      }),
    },
  } as LiveObject;
}

function without(object: object, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field)));
}

/**
 * Masks the values of a Secret in a comparison, showing only whether they differ, as `kubectl diff`
 * does.
 */
export function maskSecretValues(
  before: LiveObject | undefined,
  after: LiveObject,
): { readonly before?: LiveObject; readonly after: LiveObject } {
  if (after.kind !== 'Secret') return before === undefined ? { after } : { before, after };
  const masked = (object: LiveObject, other: LiveObject | undefined, mark: string): LiveObject => ({
    ...object,
    data: Object.fromEntries(
      Object.entries(secretData(object)).map(([key, value]) => [
        key,
        other !== undefined && secretData(other)[key] !== value ? `*** (${mark})` : '***',
      ]),
    ),
  });
  return {
    ...(before && { before: masked(before, after, 'before') }),
    after: masked(after, before, 'after'),
  };
}

function secretData(object: LiveObject): Readonly<Record<string, unknown>> {
  return (object.data ?? {}) as Readonly<Record<string, unknown>>;
}
