import { describe, expect, it } from 'vitest';
import { unsafeRights } from '../../../../src/kube/objects/user-role.ts';

const rbac = 'rbac.authorization.k8s.io';
const role = (apiGroup: string, resource: string, ...verbs: string[]) => ({
  rules: [{ apiGroups: [apiGroup], resources: [resource], verbs }],
});

describe('a role for users', () => {
  it.each([
    ['all groups', role('*', 'pods', 'get'), 'apiGroups has *'],
    ['all resources', role('', '*', 'get'), 'resources has *'],
    ['a subresource of all resources', role('apps', '*/scale', 'get'), 'resources has *'],
    ['all verbs', role('', 'pods', '*'), 'verbs has *'],
    ['to bind roles', role(rbac, 'clusterroles', 'bind'), 'bind clusterroles: binds any role'],
    ['to escalate', role(rbac, 'roles', 'escalate'), 'escalate roles: writes roles'],
    ['to impersonate', role('', 'serviceaccounts', 'get', 'impersonate'), 'impersonate service'],
    ['to write roles', role(rbac, 'roles', 'get', 'patch'), `patch roles.${rbac}: grants rights`],
    ['to write bindings', role(rbac, 'rolebindings', 'create'), 'create rolebindings'],
    ['to make tokens', role('', 'serviceaccounts/token', 'create'), 'create serviceaccounts/token'],
    ['to change the namespace', role('', 'namespaces', 'update'), 'update namespaces: deletes'],
    ['to end the namespace', role('', 'namespaces', 'delete'), 'delete namespaces'],
    ['to finalize it', role('', 'namespaces/finalize', 'update'), 'update namespaces/finalize'],
    ['to open its network', role('networking.k8s.io', 'networkpolicies', 'delete'), 'opens what'],
    ['to open it to Cilium', role('cilium.io', 'ciliumnetworkpolicies', 'create'), 'opens what'],
    ['to change its quota', role('', 'resourcequotas', 'deletecollection'), "the site's limits"],
    ['to change its limits', role('', 'limitranges', 'patch'), "the site's limits"],
    ['to choose a node', role('', 'pods/binding', 'create'), 'chooses the node'],
    [
      'to route traffic',
      role('discovery.k8s.io', 'endpointslices', 'create'),
      'addresses of others',
    ],
    ['to change the address of a pod', role('', 'pods/status', 'patch'), 'addresses of others'],
    ['to change that of a Service', role('', 'services/status', 'update'), 'addresses of others'],
    ['a right of Kubernetes to come', role('', 'limitranges', 'evolve'), 'evolve limitranges'],
  ])('must not have the right %s', (_, hostile, reason) => {
    const safe = role('batch', 'jobs', 'create').rules;

    expect(unsafeRights(hostile)).toEqual([expect.stringContaining(reason)]);
    expect(unsafeRights({ rules: [...safe, ...hostile.rules] })).toHaveLength(1);
  });

  it('is refused with all of its reasons', () => {
    const verbs = ['get', 'create', 'bind'];
    const rules = [
      { apiGroups: [rbac, ''], resources: ['roles', 'rolebindings', 'secrets'], verbs },
    ];

    expect(unsafeRights({ rules })).toEqual([
      'bind roles, rolebindings, secrets: binds any role',
      `create roles.${rbac}: grants rights`,
      `create rolebindings.${rbac}: grants rights`,
    ]);
  });

  it.each([
    ['Jobs', role('batch', 'jobs', 'create', 'delete')],
    ['exec', role('', 'pods/exec', 'get', 'create')],
    ['to read roles and quotas', role(rbac, 'roles', 'get', 'list', 'watch')],
    ['to read its namespace', role('', 'namespaces', 'get')],
    ['accounts', role('', 'serviceaccounts', 'create')],
    ['URLs, which count nowhere', { rules: [{ nonResourceURLs: ['*'], verbs: ['*'] }] }],
    ['nothing', { rules: null }],
  ])('may have %s', (_, harmless) => {
    expect(unsafeRights(harmless)).toEqual([]);
  });
});
