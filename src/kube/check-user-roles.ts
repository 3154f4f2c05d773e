import { BerthError } from '../errors/berth-error.ts';
import { installedPath } from '../installed-path.ts';
import type { ApiClient, ApiRequest, ApiResponse } from './api-client.ts';
import { apiError } from './api-errors.ts';
import { unsafeRights } from './objects/user-role.ts';
import { getRequest } from './requests.ts';

export interface CheckedRoles {
  readonly safe: readonly string[];
  /** One error for each role that is not bound, with the code `user-role-not-bound`. */
  readonly refused: readonly BerthError[];
}

/**
 * Reads the ClusterRoles of `user_roles`, in parallel, and checks that a user may have them.
 *
 * @throws the `api-…` errors, but for a role that may not be read
 */
export async function checkUserRoles(
  client: ApiClient,
  names: readonly string[],
): Promise<CheckedRoles> {
  const answers = await Promise.all(
    names.map(async (name) => ({ name, answer: await client.send(readRoleRequest(name)) })),
  );
  const checked = answers.map(({ name, answer }) => ({ name, error: refusalOf(name, answer) }));
  return {
    safe: checked.filter(({ error }) => error === undefined).map(({ name }) => name),
    refused: checked.flatMap(({ error }) => error ?? []),
  };
}

/** Reads a ClusterRole, for which the account needs the right. */
export function readRoleRequest(name: string): ApiRequest {
  return getRequest({ kind: 'ClusterRole', metadata: { name } });
}

/** How an admin lets the hook read and bind roles. */
export const userRolesHint = (names: readonly string[]): string => {
  const directory = installedPath('share/etc/kubernetes/user-roles');
  return `Name ${names.join(', ')} in the resourceNames of ${directory}/user-roles.yaml, then run \`kubectl apply -k ${directory}\`.`;
};

function refusalOf(name: string, answer: ApiResponse): BerthError | undefined {
  const { status, body } = answer;
  if (status === 404)
    return notBound(name, 'it does not exist', `Create it, or remove ${name} from user_roles.`);
  if (status === 403)
    return notBound(name, 'the account of the hook may not read it', userRolesHint([name]));
  if (status !== 200) throw apiError(`reading ClusterRole ${name}`, answer);
  const reasons = unsafeRights(body);
  if (reasons.length === 0) return undefined;
  return notBound(
    name,
    reasons.join('; '),
    `Make a ClusterRole without these rights, and name it in user_roles.`,
  );
}

function notBound(name: string, why: string, hint: string): BerthError {
  return new BerthError(`ClusterRole ${name} is not bound to users: ${why}`, {
    code: 'user-role-not-bound',
    hint,
  });
}
