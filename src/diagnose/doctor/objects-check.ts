import {
  failed,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { countText } from '../../system/text/count-text.ts';
import type { User } from '../../system/identity/nss.ts';
import type { ApiClient, ApiResponse } from '../../kube/api-client.ts';
import { apiError, applyError } from '../../kube/api-errors.ts';
import type { KubeObject, LiveObject } from '../../kube/objects/kube-object.ts';
import type { UserObjects } from '../../kube/objects/user-objects.ts';
import { annotations } from '../../kube/objects/well-known-names.ts';
import { ownership } from '../../kube/ownership.ts';
import { driftedObjects, readUserObjects } from '../../kube/read-user-objects.ts';
import { createRequest, getRequest, writeRequest } from '../../kube/requests.ts';

/** Whether the namespace belongs to the user, and is as a login leaves it. */
export async function namespaceFinding(
  client: ApiClient,
  user: User,
  { namespace, members, decidedBindings }: UserObjects,
): Promise<Finding> {
  const { name } = namespace.metadata;
  const answer = await client.send(getRequest(namespace));
  if (answer.status === 404)
    return ok(`namespace ${name} does not exist yet: the next login creates it`);
  if (answer.status !== 200) throw apiError(`reading namespace ${name}`, answer);
  const live = answer.body as LiveObject;
  if (live.metadata.deletionTimestamp !== undefined)
    return warning(
      `namespace ${name} is being deleted`,
      `To see what delays the deletion: kubectl get namespace ${name} -o jsonpath='{.status.conditions}'`,
    );
  // The contents of the pull secret are not read here, so its drift is not checked.
  const known = { members: members.filter(({ kind }) => kind !== 'Secret'), decidedBindings };
  const read = await readUserObjects(client, name, known);
  const owner = ownership(user.name, live, read.roleBindings);
  if (owner.verdict === 'refused') return failedWith(owner.error);
  if (owner.verdict === 'adoptable')
    return ok(`namespace ${name} was created by OSC's hook; at the next login Berth takes it over`);
  const wrong = driftedObjects(read.members).length;
  return ok(
    wrong === 0
      ? `namespace ${name} is up to date`
      : `namespace ${name}: the next login corrects ${countText(wrong, 'object')} (berth plan --user ${user.name})`,
  );
}

/** Where the objects of a namespace that does not exist yet are tried: each cluster has it. */
const standIn = 'default';

/**
 * Whether the API server accepts the objects of a login, by a server-side dry run with the hook's own access, which
 * changes nothing. An object is validated before policies see it: for a namespace that does not exist yet, or that Berth
 * would take over from OSC's hook, the others are tried in `default`, where the guard then refuses each valid one.
 *
 * @throws the `api-…` errors, if a request has no answer
 */
export async function objectsFinding(
  client: ApiClient,
  { namespace, members }: UserObjects,
): Promise<Finding> {
  const { name } = namespace.metadata;
  const owner = namespace.metadata.annotations?.[annotations.owner] ?? '';
  const live = await client.send(getRequest(namespace));
  if (isWithoutRight(live)) return notTried;
  if (live.status !== 200 && live.status !== 404) throw apiError(`reading namespace ${name}`, live);
  const found = live.status === 200 ? (live.body as LiveObject) : undefined;
  const verdict = found && (await verdictOn(client, owner, found, members));
  if (verdict === 'refused') return skipped(`namespace ${name} does not belong to the user`);
  const exists = verdict === 'ours' && found?.metadata.deletionTimestamp === undefined;
  const wrong = (answer: ApiResponse): boolean => (exists ? isRefused(answer) : isInvalid(answer));
  const tried: readonly [KubeObject, ApiResponse][] = await Promise.all([
    ...(found === undefined ? [send(namespace, createRequest(namespace, { dryRun: true }))] : []),
    ...members.map((member) => {
      const place = exists ? name : standIn;
      const object = { ...member, metadata: { ...member.metadata, namespace: place } };
      return send(member, writeRequest(object, { dryRun: true }));
    }),
  ]);
  const errors = tried
    .filter(([object, answer]) => (object === namespace ? isRefused(answer) : wrong(answer)))
    .map(([object, answer]) => applyError(object, answer));
  const [first] = errors;
  if (first !== undefined)
    return failed(errors.map(({ message }) => message).join('; '), first.hint);
  if (tried.some(([, answer]) => isWithoutRight(answer))) return notTried;
  return ok(`the API server accepts ${countText(tried.length, 'object')} of a login (dry run)`);

  async function send(
    object: KubeObject,
    request: ReturnType<typeof writeRequest>,
  ): Promise<[KubeObject, ApiResponse]> {
    return [object, await client.send(request)];
  }
}

/** Only OSC's hook leaves a namespace without an owner. */
async function verdictOn(
  client: ApiClient,
  owner: string,
  found: LiveObject,
  members: UserObjects['members'],
): Promise<ReturnType<typeof ownership>['verdict']> {
  const { annotations: present, name } = found.metadata;
  const bindings = members.filter(({ kind }) => kind === 'RoleBinding');
  const { roleBindings } =
    present?.[annotations.owner] === undefined
      ? await readUserObjects(client, name, { members: bindings })
      : { roleBindings: [] };
  return ownership(owner, found, roleBindings).verdict;
}

const notTried = skipped('the account of the hook may not try all objects: see the check `rights`');

/** Also by a policy or a quota. 409: another writer's references, or the namespace was created meanwhile. */
function isRefused(answer: ApiResponse): boolean {
  return answer.status >= 400 && answer.status !== 409 && !isWithoutRight(answer);
}

/** By the API server itself, not by a policy. */
function isInvalid({ status, body }: ApiResponse): boolean {
  const { message } = body;
  const byPolicy = typeof message === 'string' && /AdmissionPolicy|admission webhook/.test(message);
  return (status === 400 || status === 422 || status >= 500) && !byPolicy;
}

/** RBAC: the check of the rights reports it. */
function isWithoutRight({ status, body }: ApiResponse): boolean {
  const { message } = body;
  return status === 403 && typeof message === 'string' && /forbidden: [Uu]ser /.test(message);
}
