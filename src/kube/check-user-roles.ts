import type { ClusterSettings } from '../config/schema/settings.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import { installedPath } from '../system/program/installed-path.ts';
import type { ApiClient, ApiRequest, ApiResponse } from './api-client.ts';
import { apiError } from './api-errors.ts';
import { resourceName, type RoleRules, unsafeRights } from './objects/unsafe-role-rights.ts';
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
  {
    userRoles: names = [],
    userRoleResources = [],
  }: Pick<ClusterSettings, 'userRoles' | 'userRoleResources'>,
): Promise<CheckedRoles> {
  const checked = await Promise.all(
    names.map(async (name) => {
      const answer = await client.send(readRoleRequest(name));
      return { name, error: await refusalOf(client, name, answer, userRoleResources) };
    }),
  );
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

async function refusalOf(
  client: ApiClient,
  name: string,
  answer: ApiResponse,
  named: readonly string[],
): Promise<BerthError | undefined> {
  const { status, body } = answer;
  if (status === 404)
    return notBound(name, 'it does not exist', `Create it, or remove ${name} from user_roles.`);
  if (status === 403)
    return notBound(name, 'the account of the hook may not read it', userRolesHint([name]));
  if (status !== 200) throw apiError(`reading ClusterRole ${name}`, answer);
  if (unsafeRights(body, { named }).length === 0) return undefined;
  const reasons = unsafeRights(body, { named, served: await servedResources(client, body) });
  if (reasons.length === 0) return undefined;
  return notBound(
    name,
    reasons.join('; '),
    `Make a ClusterRole without these rights, and name it in user_roles.`,
  );
}

/** What the API server has in the groups of a role, by its discovery. */
async function servedResources(
  client: ApiClient,
  { rules }: RoleRules,
): Promise<ReadonlySet<string>> {
  const groups = new Set((rules ?? []).flatMap(({ apiGroups = [] }) => apiGroups));
  groups.delete('*');
  const served = await Promise.all(
    [...groups].map(async (group) => {
      const versions = group === '' ? [] : listOf(await read(client, `/apis/${group}`), 'versions');
      const paths =
        group === '' ? ['/api/v1'] : versions.map((one) => `/apis/${String(one.groupVersion)}`);
      const lists = await Promise.all(paths.map((path) => read(client, path)));
      return lists.flatMap((list) =>
        listOf(list, 'resources').map(({ name }) => resourceName(group, String(name))),
      );
    }),
  );
  return new Set(served.flat());
}

/** @returns undefined if the API server has no such group */
async function read(client: ApiClient, path: string): Promise<ApiResponse['body'] | undefined> {
  const answer = await client.send({ method: 'GET', path });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw apiError(`reading ${path}`, answer);
  return answer.body;
}

function listOf(
  body: ApiResponse['body'] | undefined,
  key: string,
): readonly Readonly<Record<string, unknown>>[] {
  const list = body?.[key];
  return Array.isArray(list) ? (list as readonly Readonly<Record<string, unknown>>[]) : [];
}

function notBound(name: string, why: string, hint: string): BerthError {
  return new BerthError(
    'user-role-not-bound',
    `ClusterRole ${name} is not bound to users: ${why}`,
    {
      hint,
    },
  );
}
