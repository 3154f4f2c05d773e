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

/** Resources that a role for users must not write, each with what would be possible. */
const notToWrite: Readonly<Record<string, string>> = {
  'roles.rbac.authorization.k8s.io': 'grants rights',
  'rolebindings.rbac.authorization.k8s.io': 'grants rights',
  'serviceaccounts/token': 'makes tokens that outlast the login',
  namespaces: 'deletes the namespace, or changes whose it is',
  'namespaces/status': 'changes whose namespace it is',
  'namespaces/finalize': 'changes whose namespace it is',
  'networkpolicies.networking.k8s.io': 'opens what the site closed',
  'ciliumnetworkpolicies.cilium.io': 'opens what the site closed',
  'networkpolicies.crd.projectcalico.org': 'opens what the site closed',
  'networkpolicies.projectcalico.org': 'opens what the site closed',
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

const reading = ['get', 'list', 'watch'];

/**
 * Why a ClusterRole must not be bound to a user, one sentence for each right; empty if it may. What it allows on other
 * resources, pods among them, the admission policies hold.
 */
export function unsafeRights({ rules }: RoleRules): string[] {
  return [...new Set((rules ?? []).flatMap(ofRule))];
}

function ofRule({
  apiGroups = [],
  resources = [],
  verbs,
}: KubeJson<V1PolicyRule>): readonly string[] {
  // Without resources it is about URLs, which a binding in a namespace does not grant.
  if (resources.length === 0) return [];
  const wildcards = Object.entries({ apiGroups, resources, verbs })
    .filter(([, values]) => values.some((value) => value.includes('*')))
    .map(([key]) => `${key} has *, which includes everything that is added later`);
  if (wildcards.length > 0) return wildcards;
  const writes = verbs.find((verb) => !reading.includes(verb) && !(verb in verbsWithMore));
  return [
    ...verbs.flatMap((verb) => {
      const reason = verbsWithMore[verb];
      return reason === undefined ? [] : [`${verb} ${resources.join(', ')}: ${reason}`];
    }),
    ...(writes === undefined
      ? []
      : apiGroups.flatMap((group) =>
          resources.flatMap((resource) => {
            const name = group === '' ? resource : `${resource}.${group}`;
            const reason = notToWrite[name];
            return reason === undefined ? [] : [`${writes} ${name}: ${reason}`];
          }),
        )),
  ];
}
