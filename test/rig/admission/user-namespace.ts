import type { Manifest } from '../../../src/kube/objects/kube-object.ts';

/** A Role and RoleBinding with every right in a namespace, and a quota: the policies must hold for such a user too. */
export function fullAccess(namespace: string, user: string): Manifest[] {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: 'everything', namespace };
  return [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'everything' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    },
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata,
      spec: { hard: { 'count/secrets': '10000' } },
    },
  ];
}

export function namespace(
  name: string,
  labels: Readonly<Record<string, string>> = {},
  annotations: Readonly<Record<string, string>> = {},
): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels, annotations } };
}

export function serviceAccount(namespace: string, name: string): Manifest {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } };
}
