import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { lifetimeAnnotation } from '../desired/names.ts';
import { type Form, listOf, quoted, type Rule, type Variable } from './policy.ts';

/*
 * Runtimes, networks and devices take orders by annotations, past every field of the API and every rule
 * about them: whose domains these are nobody can list. So what may pass is listed.
 */

/** Read by people, by what made the object and by what looks at it. */
const harmlessDomains = [
  ...['kubectl.kubernetes.io', 'app.kubernetes.io', 'batch.kubernetes.io'],
  ...['helm.sh', 'meta.helm.sh', 'argocd.argoproj.io', 'workflows.argoproj.io'],
  ...['kustomize.toolkit.fluxcd.io', 'helm.toolkit.fluxcd.io'],
  ...['prometheus.io', 'hub.jupyter.org', 'openondemand.org'],
];
/** The same, of domains with others in them that are not harmless. */
const harmlessKeys = [
  lifetimeAnnotation,
  ...['kubernetes.io/description', 'kubernetes.io/change-cause'],
  // The API server's own LimitRanger, OpenShift's admission and Kyverno write these at admission.
  ...['kubernetes.io/limit-ranger', 'policies.kyverno.io/last-applied-patches'],
  ...['openshift.io/scc', 'security.openshift.io/validated-scc-subject-type'],
  // Which pods go first and which nodes stay, for no longer than the pod's lifetime.
  'controller.kubernetes.io/pod-deletion-cost',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  ...['service.kubernetes.io/topology-mode', 'service.kubernetes.io/topology-aware-hints'],
  // Files in the pods of SSH sessions are made of these.
  ...['berth.dev/passwd', 'berth.dev/group'],
];
/** The old spelling of a field that has a rule. */
const appArmor = 'container.apparmor.security.beta.kubernetes.io/';

/** CEL about a key `k`: what orders begin with has a dot, `org.criu.config` as much as `cdi.k8s.io/x`. */
function isOrder(allowed: readonly string[]): string {
  const domain = "k.split('/')[0]";
  const domains = allowed.filter((one) => one.endsWith('/*')).map((one) => one.slice(0, -2));
  const keys = allowed.filter((one) => !one.endsWith('/*'));
  const value = 'variables.annotations[k]';
  return [
    `${domain}.contains('.')`,
    `!(${domain} in ${listOf([...harmlessDomains, ...domains])})`,
    `!(k in ${listOf([...harmlessKeys, ...keys])})`,
    `!(k.startsWith('${appArmor}') && (${value} == 'runtime/default' || ${value}.startsWith('localhost/')))`,
  ].join(' && ');
}

/** @param form A template has no history: it is looked at as a whole where it changes. */
export function annotationVariables(
  form: Form,
  { annotations }: AdmissionParameters,
): readonly Variable[] {
  const of = form === 'pod' ? 'object' : 'variables.template';
  const had = 'k in variables.before && variables.before[k] == variables.annotations[k]';
  return [
    { name: 'annotations', expression: `${of}.?metadata.?annotations.orValue({})` },
    ...(form === 'pod'
      ? [
          {
            name: 'before',
            expression:
              "request.operation == 'UPDATE' ? oldObject.metadata.?annotations.orValue({}) : {}",
          },
        ]
      : []),
    {
      name: 'orders',
      expression: `variables.annotations.filter(k, ${isOrder(annotations)}${form === 'pod' ? ` && !(${had})` : ''})`,
    },
  ];
}

export function annotationRules(): Rule[] {
  return [
    {
      holds: 'size(variables.orders) == 0',
      message: `${quoted('metadata.annotations ')} + variables.orders.join(', ') + ' must be absent: the keys are not among those that this site allows'`,
    },
  ];
}
