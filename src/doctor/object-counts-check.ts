import type { V1PolicyRule } from '@kubernetes/client-node';
import { type Finding, ok, warning } from '../check-result.ts';
import type { ClusterSettings } from '../config/schema/settings.ts';
import { installedPath } from '../installed-path.ts';
import type { ApiClient } from '../kube/api-client.ts';
import { readRoleRequest } from '../kube/check-user-roles.ts';
import type { KubeJson } from '../kube/objects/kube-object.ts';
import { resourceName, type RoleRules } from '../kube/objects/unsafe-role-rights.ts';

/** What `ood-user` lets users create. */
const ofEveryUser = ['configmaps', 'pods', 'secrets', 'services'];

/** Their old names in a quota count objects, too; `pods` does not count those that have ended. */
const countedByName = [
  'configmaps',
  'persistentvolumeclaims',
  'replicationcontrollers',
  'secrets',
  'services',
];

/**
 * Whether `resource_quota` limits the number of objects of each kind that users can create: etcd has one size for all, and the
 * API server refuses everybody's writes when it is full.
 */
export async function objectCountsFinding(
  client: ApiClient,
  { userRoles = [], resourceQuota = {} }: Pick<ClusterSettings, 'userRoles' | 'resourceQuota'>,
): Promise<Finding> {
  // With a scope, a quota counts pods and claims at most.
  const { hard, scopes, scopeSelector } = resourceQuota;
  const limits = scopes === undefined && scopeSelector === undefined ? Object.keys(hard ?? {}) : [];
  const isLimited = (name: string): boolean =>
    limits.includes(`count/${name}`) || (countedByName.includes(name) && limits.includes(name));
  const ofRoles = await Promise.all(
    userRoles.map(async (name) => {
      const { status, body } = await client.send(readRoleRequest(name));
      // A role that cannot be read is not bound: see the check `cluster-roles`.
      return status === 200 ? creatable(body) : [];
    }),
  );
  const kinds = [...ofEveryUser.map((name) => [name]), ...ofRoles.flat()];
  const unlimited = kinds.filter((names) => !names.some(isLimited)).flat();
  if (unlimited.length === 0)
    return ok('resource_quota limits the number of objects of each kind that users can create');
  const names = [...new Set(unlimited)].toSorted();
  return warning(
    `no resource_quota of berth.yml limits the number of ${names.join(', ')} in a user's namespace: one user can fill etcd, and then nobody can log in`,
    `If no other quota in the namespaces does, set ${names.map((name) => `count/${name}`).join(', ')} in resource_quota.hard, as in ${installedPath('share/etc/berth/berth.yml.example')}.`,
  );
}

/** The resources that a role creates, each with its possible names: of two groups in a rule, it is usually in one. */
function creatable({ rules }: RoleRules): string[][] {
  return (rules ?? []).filter(({ verbs }) => verbs.includes('create')).flatMap(namesOf);
}

/** Without subresources and reviews, of which nothing is stored. */
function namesOf({ apiGroups = [], resources = [] }: KubeJson<V1PolicyRule>): string[][] {
  return resources
    .filter((resource) => !/\/|reviews$/.test(resource))
    .map((resource) => apiGroups.map((group) => resourceName(group, resource)));
}
