import { type HostileRequest, patched } from './hostile.ts';

type Fields = Readonly<Record<string, unknown>>;

const rbac = 'rbac.authorization.k8s.io';
const session = { kind: 'ServiceAccount', name: 'berth-session' };

/** Creates an object of a reserved resource; `fields` is all but its kind and name. */
function made(
  way: string,
  group: string,
  resource: string,
  kind: string,
  fields: Fields,
): HostileRequest {
  return {
    way,
    ...reserved(resource),
    method: 'POST',
    path: `${group === 'v1' ? '/api/v1' : `/apis/${group}`}/namespaces/{namespace}/${resource}`,
    body: { apiVersion: group, kind, metadata: { name: 'hostile' }, ...fields },
  };
}

function reserved(resource: string): Pick<HostileRequest, 'policy' | 'field' | 'wanted'> {
  return {
    policy: 'reserved',
    field: 'only components of the cluster and admins',
    wanted: `may write ${resource} in the namespace of a user`,
  };
}

const token = (way: string, account: string, spec: Fields): HostileRequest => ({
  way,
  ...reserved('serviceaccounts'),
  method: 'POST',
  path: `serviceaccounts/${account}/token`,
  body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec },
});

const bound = (role: string, subject: Fields): Fields => ({
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
  subjects: [subject],
});
const rules = { hosts: ['ondemand.example.org'] };
const backend = { service: { name: 'web', port: { number: 80 } } };

/** Grants with which access outlasts a session or an account, and changes of the site's limits. */
export const hostileGrants: readonly HostileRequest[] = [
  token('a token of the account of sessions', 'berth-session', {}),
  token('a token of the default account for years', 'default', { expirationSeconds: 315_360_000 }),
  token('a token of an account for another service', 'pipeline', { audiences: ['vault'] }),
  made(
    'more rights for its pods',
    `${rbac}/v1`,
    'rolebindings',
    'RoleBinding',
    bound('edit', { kind: 'ServiceAccount', name: 'default' }),
  ),
  made(
    'rights for the account of sessions',
    `${rbac}/v1`,
    'rolebindings',
    'RoleBinding',
    bound('edit', session),
  ),
  made(
    'a way in for somebody else',
    `${rbac}/v1`,
    'rolebindings',
    'RoleBinding',
    bound('view', { apiGroup: rbac, kind: 'User', name: 'mallory' }),
  ),
  made('a role of its own', `${rbac}/v1`, 'roles', 'Role', {
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }],
  }),
  made('traffic from everywhere', 'networking.k8s.io/v1', 'networkpolicies', 'NetworkPolicy', {
    spec: { podSelector: {}, ingress: [{}] },
  }),
  made("the portal's name by an Ingress", 'networking.k8s.io/v1', 'ingresses', 'Ingress', {
    spec: { tls: [rules], defaultBackend: backend },
  }),
  made('nodes that cannot be drained', 'policy/v1', 'poddisruptionbudgets', 'PodDisruptionBudget', {
    spec: { minAvailable: '100%', selector: {} },
  }),
  made('a quota of its own', 'v1', 'resourcequotas', 'ResourceQuota', {
    spec: { hard: { pods: '900' } },
  }),
  {
    way: 'more than the quota, by its status',
    ...reserved('resourcequotas'),
    ...patched('/api/v1/namespaces/{namespace}/resourcequotas/everything/status', {
      status: { hard: { 'count/secrets': '90000' } },
    }),
  },
  made('limits of its own', 'v1', 'limitranges', 'LimitRange', { spec: { limits: [] } }),
  {
    way: 'no RoleBinding of the reaper',
    ...reserved('rolebindings'),
    method: 'DELETE',
    path: `/apis/${rbac}/v1/namespaces/{namespace}/rolebindings/everything`,
  },
  {
    way: 'a RoleBinding for somebody else',
    ...reserved('rolebindings'),
    ...patched(`/apis/${rbac}/v1/namespaces/{namespace}/rolebindings/everything`, {
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'mallory' }],
    }),
  },
];
