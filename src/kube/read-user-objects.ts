import { differs, mergePullSecrets } from './objects/object-drift.ts';
import {
  describeObject,
  type KubeObject,
  type LiveObject,
  type ObjectName,
} from './objects/kube-object.ts';
import type { UserObjects } from './objects/user-objects.ts';
import type { ApiClient, ApiResponse } from './api-client.ts';
import { apiError } from './api-errors.ts';
import { getRequest, listRoleBindingsRequest } from './requests.ts';

/** A desired object and its state in the cluster. */
export interface DesiredAndLive {
  readonly desired: KubeObject;
  readonly live?: LiveObject;
}

export interface LiveUserObjects {
  readonly members: readonly DesiredAndLive[];
  /** Every RoleBinding of the namespace, including those of others. */
  readonly roleBindings: readonly LiveObject[];
}

/**
 * Reads all desired objects of a namespace in parallel. A missing one is not an error. Bindings that are no longer wanted
 * are desired without subjects: the hook may not delete them.
 */
export async function readUserObjects(
  client: ApiClient,
  namespace: string,
  { members: wanted, decidedBindings = [] }: Pick<UserObjects, 'members' | 'decidedBindings'>,
): Promise<LiveUserObjects> {
  const [roleBindings, ...others] = await Promise.all([
    readRoleBindings(client, namespace, wanted),
    ...wanted
      .filter(({ kind }) => kind !== 'RoleBinding')
      .map(async (desired) => ({
        desired,
        live: await readObject(client, desired),
      })),
  ]);
  const members = wanted.map((desired): DesiredAndLive => {
    const live =
      desired.kind === 'RoleBinding'
        ? roleBindings.find(({ metadata }) => metadata.name === desired.metadata.name)
        : others.find((other) => other.desired === desired)?.live;
    return live === undefined ? { desired } : { desired: mergePullSecrets(desired, live), live };
  });
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  const ended = roleBindings.filter(
    ({ metadata: { name }, subjects }) =>
      decidedBindings.some((start) => name.startsWith(start)) &&
      !names.has(name) &&
      (subjects as readonly unknown[] | undefined)?.length,
  );
  const emptied = ended.map((live) => ({ desired: withoutSubjects(live), live }));
  return { members: [...members, ...emptied], roleBindings };
}

function withoutSubjects({ metadata, roleRef }: LiveObject): KubeObject<'RoleBinding'> {
  const { name, namespace } = metadata;
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: roleRef as KubeObject<'RoleBinding'>['roleRef'],
    subjects: [],
  };
}

/** The objects that are missing or differ and have to be applied. */
export function driftedObjects(members: readonly DesiredAndLive[]): KubeObject[] {
  return members
    .filter(({ desired, live }) => live === undefined || differs(desired, live))
    .map(({ desired }) => desired);
}

/** The object in the cluster; undefined if there is none. @throws {BerthError} the `api-…` errors */
export async function readObject(
  client: ApiClient,
  object: ObjectName,
): Promise<LiveObject | undefined> {
  return objectIfFound(await client.send(getRequest(object)), `reading ${describeObject(object)}`);
}

/** The object of a 200, undefined for a 404. */
export function objectIfFound(answer: ApiResponse, attempted: string): LiveObject | undefined {
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw apiError(attempted, answer);
  return answer.body as LiveObject;
}

/**
 * Reads all RoleBindings in one request. OSC's ServiceAccount may get but not list them: then each
 * desired one is read by name.
 */
async function readRoleBindings(
  client: ApiClient,
  namespace: string,
  wanted: readonly KubeObject[],
): Promise<readonly LiveObject[]> {
  const answer = await client.send(listRoleBindingsRequest(namespace));
  if (answer.status === 403) {
    const bindings = await Promise.all(
      wanted
        .filter(({ kind }) => kind === 'RoleBinding')
        .map((desired) => readObject(client, desired)),
    );
    return bindings.filter((binding) => binding !== undefined);
  }
  if (answer.status !== 200) throw apiError(`listing the RoleBindings of ${namespace}`, answer);
  // The items of a list have no apiVersion and kind.
  const kind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' };
  return (answer.body.items as readonly LiveObject[]).map((item) => ({ ...kind, ...item }));
}
