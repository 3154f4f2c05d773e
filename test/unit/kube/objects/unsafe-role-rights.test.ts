import { describe, expect, it } from 'vitest';
import { unsafeRights } from '../../../../src/kube/objects/unsafe-role-rights.ts';

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
    ['to take host names', role('networking.k8s.io', 'ingresses', 'create'), 'devices or routes'],
    [
      'to redirect with Cilium',
      role('cilium.io', 'ciliumlocalredirectpolicies', 'create'),
      'routes',
    ],
    ['to join a network of Multus', role('k8s.cni.cncf.io', 'x', 'create'), 'devices or routes'],
    [
      'to open it to Antrea',
      role('crd.antrea.io', 'networkpolicies', 'patch'),
      'devices or routes',
    ],
    ['to allot a device', role('resource.k8s.io', 'resourceclaims/status', 'update'), 'devices'],
    ['to open a console', role('subresources.kubevirt.io', 'vmis/console', 'get'), 'devices or'],
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

    const served = new Set(['secrets', `roles.${rbac}`, `rolebindings.${rbac}`]);
    expect(unsafeRights({ rules }, { served })).toEqual([
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
    ['to read what an operator made', role('argoproj.io', 'workflows', 'get', 'watch')],
    ['to read a status', role('argoproj.io', 'workflows/status', 'get')],
    ['to claim devices', role('resource.k8s.io', 'resourceclaims', 'create')],
    ['URLs, which count nowhere', { rules: [{ nonResourceURLs: ['*'], verbs: ['*'] }] }],
    ['nothing', { rules: null }],
  ])('may have %s', (_, harmless) => {
    expect(unsafeRights(harmless)).toEqual([]);
  });

  it('may have what the site names, but no more rights', () => {
    const named = ['workflows.argoproj.io', '*.kubernetes.dask.org', `roles.${rbac}`];
    const rules = [
      ...role('argoproj.io', 'workflows', 'create').rules,
      ...role('kubernetes.dask.org', 'daskclusters/scale', 'patch').rules,
    ];
    expect(unsafeRights({ rules }, { named })).toEqual([]);
    expect(unsafeRights(role('argoproj.io', 'workflows/x', 'create'), { named })).toHaveLength(1);
    expect(unsafeRights(role(rbac, 'roles', 'create'), { named })).toHaveLength(1);
  });
});
