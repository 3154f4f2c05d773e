import type { V1PolicyRule } from '@kubernetes/client-node';
import type { KubeJson } from './kube-object.ts';

/** What is read of a ClusterRole. */
export interface RoleRules {
  readonly rules?: readonly KubeJson<V1PolicyRule>[] | null;
}

/** With these verbs a user gets rights that the role does not have, whatever the resource. */
const verbsWithMore: Readonly<Record<string, string>> = {
  bind: 'binds any role',
  escalate: 'writes roles with more rights than its own',
  impersonate: 'acts as another user or account',
};

/** Resources that no role for users may write, each with what would be possible. */
const notToWrite: Readonly<Record<string, string>> = {
  'roles.rbac.authorization.k8s.io': 'grants rights',
  'rolebindings.rbac.authorization.k8s.io': 'grants rights',
  'serviceaccounts/token': 'makes tokens that outlast the login',
  namespaces: 'deletes the namespace, or changes whose it is',
  'namespaces/status': 'changes whose namespace it is',
  'namespaces/finalize': 'changes whose namespace it is',
  'networkpolicies.networking.k8s.io': 'opens what the site closed',
  resourcequotas: "changes the site's limits",
  'resourcequotas/status': "changes the site's limits",
  limitranges: "changes the site's limits",
  bindings: 'chooses the node of a pod',
  'pods/binding': 'chooses the node of a pod',
  endpoints: 'sends traffic to addresses of others',
  'pods/status': 'sends traffic to addresses of others',
  'services/status': 'sends traffic to addresses of others',
  'persistentvolumeclaims/status': 'changes what a claim says that it has',
  'endpointslices.discovery.k8s.io': 'sends traffic to addresses of others',
};

/**
 * All that a role may write unless the site names more: the admission policies check it, or it has no effect beyond the
 * namespace. Of other resources, which an operator or a release of Kubernetes may bring, nobody knows whether they give a
 * device or a route.
 */
const writable = new Set([
  'pods',
  'pods/ephemeralcontainers',
  'pods/eviction',
  'pods/resize',
  'services',
  'persistentvolumeclaims',
  'secrets',
  'configmaps',
  'serviceaccounts',
  'events',
  'podtemplates',
  'replicationcontrollers',
  'replicationcontrollers/scale',
  ...['deployments', 'replicasets', 'statefulsets'].flatMap((one) => [
    `${one}.apps`,
    `${one}/scale.apps`,
  ]),
  'daemonsets.apps',
  'controllerrevisions.apps',
  'jobs.batch',
  'cronjobs.batch',
  'resourceclaims.resource.k8s.io',
  'resourceclaimtemplates.resource.k8s.io',
  'horizontalpodautoscalers.autoscaling',
  'leases.coordination.k8s.io',
  'events.events.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
]);

/** Subresources with which even `get` does something, but to nothing beyond the own pods. */
const usable = ['pods/exec', 'pods/attach', 'pods/portforward', 'pods/proxy', 'services/proxy'];

const reading = ['get', 'list', 'watch'];
const onlyRead = /\/(?:status|scale|log)(?:\.|$)/;

/**
 * Why a ClusterRole must not be bound to a user, one sentence for each right; empty if it may.
 *
 * @param known what the site lets users write in addition, and what the API server serves
 */
export function unsafeRights({ rules }: RoleRules, known: KnownResources = {}): string[] {
  return [...new Set((rules ?? []).flatMap((rule) => ofRule(rule, known)))];
}

/** Their names are `RESOURCE.GROUP` or `RESOURCE/SUBRESOURCE.GROUP`. */
export interface KnownResources {
  /** `*.GROUP` is a whole group. */
  readonly named?: readonly string[];
  readonly served?: ReadonlySet<string>;
}

/** The name of a resource of the API: `jobs.batch`, `pods/exec`. */
export function resourceName(group: string, resource: string): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function ofRule(
  { apiGroups = [], resources = [], verbs }: KubeJson<V1PolicyRule>,
  { named = [], served }: KnownResources,
): readonly string[] {
  // Without resources it is about URLs, which a binding in a namespace does not grant.
  if (resources.length === 0) return [];
  const wildcards = Object.entries({ apiGroups, resources, verbs })
    .filter(([, values]) => values.some((value) => value.includes('*')))
    .map(([key]) => `${key} has *, which includes everything that is added later`);
  if (wildcards.length > 0) return wildcards;
  return [
    ...verbs.flatMap((verb) => {
      const reason = verbsWithMore[verb];
      return reason === undefined ? [] : [`${verb} ${resources.join(', ')}: ${reason}`];
    }),
    ...resources.flatMap((resource) => {
      const names = apiGroups.map((group) => resourceName(group, resource));
      // Of a rule with two groups, a resource is usually in one of them.
      const real = names.filter((name) => served?.has(name));
      return (real.length === 0 ? names : real).flatMap((name) => ofResource(name, verbs, named));
    }),
  ];
}

function ofResource(
  name: string,
  verbs: readonly string[],
  named: readonly string[],
): readonly string[] {
  // Of a subresource nobody knows whether reading it does more, such as opening a console.
  const reads = !name.includes('/') || onlyRead.test(name);
  const verb = verbs.find((one) => !(one in verbsWithMore) && !(reads && reading.includes(one)));
  if (verb === undefined) return [];
  const reason = notToWrite[name];
  if (reason !== undefined) return [`${verb} ${name}: ${reason}`];
  const group = name.replace(/^[^.]*/, '*');
  if (writable.has(name) || usable.includes(name)) return [];
  if (named.includes(name) || named.includes(group)) return [];
  return [
    `${verb} ${name}: Berth does not know it, and it may give devices or routes of others; if it cannot, name it in user_role_resources of berth.yml`,
  ];
}
