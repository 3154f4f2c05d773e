import { quoted, type Rule, type Variable } from './policy.ts';

/**
 * Annotations that runtimes and plugins read as orders: devices, user namespaces, mirror pods.
 * Security contexts are validated; these go past every field of the API.
 */
const orders = [
  'kubernetes.io/config.',
  'cdi.k8s.io/',
  'io.kubernetes.cri-o.',
  'io.kubernetes.cri.',
  'io.containerd.',
  'io.katacontainers.',
  'run.oci.',
  'devices.nri.io',
  'mounts.nri.io',
  'ulimits.nri.io',
  'seccomp.security.alpha.kubernetes.io/',
];
/** The old spelling of a field that has a rule; RuntimeDefault and loaded profiles are fine. */
const appArmor = 'container.apparmor.security.beta.kubernetes.io/';

const isOrder = [
  ...orders.map((prefix) => `k.startsWith('${prefix}')`),
  // Some name the container behind a dot, in front of the domain: devices.NAME.nri.io.
  "k.contains('.nri.io')",
  `k.startsWith('${appArmor}') && variables.annotations[k] == 'unconfined'`,
].join(' || ');

export const annotationVariables: readonly Variable[] = [
  { name: 'annotations', expression: 'object.metadata.?annotations.orValue({})' },
  {
    name: 'before',
    expression: "request.operation == 'UPDATE' ? oldObject.metadata.?annotations.orValue({}) : {}",
  },
  {
    name: 'orders',
    expression: `variables.annotations.filter(k, (${isOrder}) && variables.before[?k].orValue('') != variables.annotations[k])`,
  },
];

export function annotationRules(): Rule[] {
  return [
    {
      holds: 'size(variables.orders) == 0',
      message: `${quoted('metadata.annotations ')} + variables.orders.join(', ') + ' must be absent'`,
    },
  ];
}
