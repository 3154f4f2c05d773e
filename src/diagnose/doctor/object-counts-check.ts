import type { V1PolicyRule } from '@kubernetes/client-node';
import { type Finding, ok, warning } from '../../system/errors/check-result.ts';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { readRoleRequest } from '../../kube/check-user-roles.ts';
import type { KubeJson } from '../../kube/objects/kube-object.ts';
import { resourceName, type RoleRules } from '../../kube/objects/unsafe-role-rights.ts';

/** Keys of a quota for what `ood-user` lets users create. One Service can have many ports, each of which is one of all nodes'. */
const ofEveryUser = [
  'count/configmaps',
  'count/pods',
  'count/secrets',
  'count/services',
  'services.nodeports',
];

/**
 * Whether `resource_quota` limits the number of objects of each kind that users can create: etcd has one size for all, and the
 * API server refuses everybody's writes when it is full. Node ports are of one range for all, too.
 */
export async function objectCountsFinding(
  client: ApiClient,
  { userRoles = [], resourceQuota = {} }: Pick<ClusterSettings, 'userRoles' | 'resourceQuota'>,
): Promise<Finding> {
  // With a scope, a quota counts pods and claims at most.
  const { hard, scopes, scopeSelector } = resourceQuota;
  const limits = scopes === undefined && scopeSelector === undefined ? Object.keys(hard ?? {}) : [];
  const isLimited = (key: string): boolean => {
    // Old names of some keys. `pods` does not count those that have ended.
    const name = key.replace('count/', '');
    return limits.includes(key) || (name !== 'pods' && limits.includes(name));
  };
  const ofRoles = await Promise.all(
    userRoles.map(async (name) => {
      const { status, body } = await client.send(readRoleRequest(name));
      // A role that cannot be read is not bound: see the check `cluster-roles`.
      return status === 200 ? creatable(body) : [];
    }),
  );
  const kinds = [...ofEveryUser.map((key) => [key]), ...ofRoles.flat()];
  const unlimited = kinds.filter((keys) => !keys.some(isLimited)).flat();
  if (unlimited.length === 0)
    return ok('resource_quota limits the number of objects of each kind that users can create');
  const keys = [...new Set(unlimited)].toSorted().join(', ');
  return warning(
    `no resource_quota of berth.yml limits ${keys} in a user's namespace: one user can fill etcd, and then nobody can log in, or take all node ports`,
    `If no other quota in the namespaces does, set ${keys} in resource_quota.hard, as in ${installedPath('share/etc/berth/berth.yml.example')}.`,
  );
}

/** The resources that a role creates, each with its possible keys: of two groups in a rule, it is usually in one. */
function creatable({ rules }: RoleRules): string[][] {
  return (rules ?? []).filter(({ verbs }) => verbs.includes('create')).flatMap(keysOf);
}

/** Without subresources and reviews, of which nothing is stored. */
function keysOf({ apiGroups = [], resources = [] }: KubeJson<V1PolicyRule>): string[][] {
  return resources
    .filter((resource) => !/\/|reviews$/.test(resource))
    .map((resource) => apiGroups.map((group) => `count/${resourceName(group, resource)}`));
}
