import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { lifetimeAnnotation } from '../objects/well-known-names.ts';
import { type PodForm, celList, celString, type Rule, type Variable } from './policy-types.ts';

/*
 * Annotations configure runtimes, networks and devices without any field of the API. Their domains cannot all be
 * known, so the allowed annotations are listed.
 */

/** Domains of annotations that are only informative or for the tools that made the object. */
const harmlessDomains = [
  'kubectl.kubernetes.io',
  'app.kubernetes.io',
  'batch.kubernetes.io',
  'helm.sh',
  'meta.helm.sh',
  'argocd.argoproj.io',
  'workflows.argoproj.io',
  'kustomize.toolkit.fluxcd.io',
  'helm.toolkit.fluxcd.io',
  'prometheus.io',
  'hub.jupyter.org',
  'openondemand.org',
];
/** Single keys of domains that have harmful keys too. */
const harmlessKeys = [
  lifetimeAnnotation,
  'kubernetes.io/description',
  'kubernetes.io/change-cause',
  // Written at admission by the API server's LimitRanger, OpenShift and Kyverno.
  'kubernetes.io/limit-ranger',
  'policies.kyverno.io/last-applied-patches',
  'openshift.io/scc',
  'security.openshift.io/validated-scc-subject-type',
  // Eviction order and node scale-down, limited by the pod's lifetime.
  'controller.kubernetes.io/pod-deletion-cost',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  'service.kubernetes.io/topology-mode',
  'service.kubernetes.io/topology-aware-hints',
  // Mounted as files in the pods of SSH sessions.
  'berth.dev/passwd',
  'berth.dev/group',
];
/** The deprecated form of a field that has a rule. */
const appArmor = 'container.apparmor.security.beta.kubernetes.io/';

/** CEL about a key `k`: that it is neither harmless nor on the site's list. */
export function isForeign(allowed: readonly string[]): string {
  const domain = "k.split('/')[0]";
  const domains = allowed.filter((one) => one.endsWith('/*')).map((one) => one.slice(0, -2));
  const keys = allowed.filter((one) => !one.endsWith('/*'));
  return [
    `!(${domain} in ${celList([...harmlessDomains, ...domains])})`,
    `!(k in ${celList([...harmlessKeys, ...keys])})`,
  ].join(' && ');
}

/** The same of a pod: harmful keys have a dot in their prefix, as in `org.criu.config` or `cdi.k8s.io/x`. */
export function isOrder({ annotations, apparmorProfiles }: AdmissionParameters): string {
  const profiles = ['runtime/default', ...apparmorProfiles.map((name) => `localhost/${name}`)];
  return [
    "k.split('/')[0].contains('.')",
    isForeign(annotations),
    `!(k.startsWith('${appArmor}') && variables.annotations[k] in ${celList(profiles)})`,
  ].join(' && ');
}

/**
 * @param form A template is checked as a whole when it changes.
 * @param refused CEL about a key `k`
 */
export function annotationVariables(form: PodForm, refused: string): readonly Variable[] {
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
      expression: `variables.annotations.filter(k, ${refused}${form === 'pod' ? ` && !(${had})` : ''})`,
    },
  ];
}

export function annotationRules(): Rule[] {
  return [
    {
      holds: 'size(variables.orders) == 0',
      message: `${celString('metadata.annotations ')} + variables.orders.join(', ') + ' must be absent: this site does not allow these keys'`,
    },
  ];
}
