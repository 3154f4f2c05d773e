import { countText } from '../count-text.ts';
import type { LiveObject } from '../kube/objects/kube-object.ts';
import type { UserObjects } from '../kube/objects/user-objects.ts';
import type { User } from '../identity/user.ts';
import type { ApiClient } from '../kube/api-client.ts';
import { apiError } from '../kube/api-errors.ts';
import { ownership } from '../kube/ownership.ts';
import { driftedObjects, readUserObjects } from '../kube/read-user-objects.ts';
import { getRequest } from '../kube/requests.ts';
import { failedWith, type Finding, ok, warning } from '../check-result.ts';

/** Whether the namespace belongs to the user, and is as a login leaves it. */
export async function namespaceFinding(
  client: ApiClient,
  user: User,
  { namespace, members }: UserObjects,
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
  const known = members.filter(({ kind }) => kind !== 'Secret');
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
