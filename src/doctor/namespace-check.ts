import type { LiveObject } from '../desired/kube-object.ts';
import type { UserObjects } from '../desired/user-objects.ts';
import type { User } from '../identity/user.ts';
import type { ApiClient } from '../reconcile/api-client.ts';
import { apiError } from '../reconcile/api-errors.ts';
import { ownership } from '../reconcile/ownership.ts';
import { drifted, readMembers } from '../reconcile/read-members.ts';
import { getRequest } from '../reconcile/requests.ts';
import { failedBy, type Finding, ok, warning } from '../finding.ts';

/** Whether the user's namespace is the user's, and as a login would leave it. */
export async function namespaceFinding(
  client: ApiClient,
  user: User,
  { namespace, members }: UserObjects,
): Promise<Finding> {
  const { name } = namespace.metadata;
  const answer = await client.send(getRequest(namespace));
  if (answer.status === 404)
    return ok(`namespace ${name} is not there yet: the next login makes it`);
  if (answer.status !== 200) throw apiError(`reading namespace ${name}`, answer);
  const live = answer.body as LiveObject;
  if (live.metadata.deletionTimestamp !== undefined)
    return warning(
      `namespace ${name} is being deleted`,
      `See what holds it: kubectl get namespace ${name} -o jsonpath='{.status.conditions}'`,
    );
  // The pull secret's contents are not read here, so its drift is not judged.
  const known = members.filter(({ kind }) => kind !== 'Secret');
  const read = await readMembers(client, name, known);
  const owner = ownership(user.name, live, read.roleBindings);
  if (owner.verdict === 'refused') return failedBy(owner.error);
  if (owner.verdict === 'adoptable') return ok(`namespace ${name} of OSC's hook will be adopted`);
  const wrong = drifted(read.members).length;
  return ok(
    wrong === 0
      ? `namespace ${name} is as it should be`
      : `namespace ${name}: the next login mends ${wrong} objects (berth plan --user ${user.name})`,
  );
}
