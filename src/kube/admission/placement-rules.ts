import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import {
  allowedValues,
  type PodForm,
  celList,
  celString,
  podRule,
  type Rule,
  type Variable,
} from './policy-types.ts';

/** CEL about a toleration `t`: whether it is as those that the API server adds to each pod (DefaultTolerationSeconds). */
const added =
  "t.?key.orValue('') in ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] && t.?effect.orValue('') == 'NoExecute' && has(t.tolerationSeconds)";
/** Cordons a node. The pods of every DaemonSet tolerate it. */
const unschedulable = 'node.kubernetes.io/unschedulable';

export function placementVariables({ tolerations }: AdmissionParameters): Variable[] {
  return [
    {
      name: 'intolerable',
      // A toleration without a key matches every taint.
      expression: `variables.spec.?tolerations.orValue([]).filter(t, !(t.?key.orValue('') in ${celList(tolerations)}) && !(${added})).map(t, t.?key.orValue(''))`,
    },
  ];
}

/** Node, anti-affinity, priority, account, tolerations and runtime class, by the scheduler or the site's lists. */
export function placementRules(form: PodForm, parameters: AdmissionParameters): Rule[] {
  const { priorityClasses, runtimeClasses, tolerations } = parameters;
  const accounts = ['default', ...parameters.serviceAccounts];
  return [
    podRule(
      'nodeName',
      // A scheduled pod has a node name.
      `${form === 'pod' ? "request.operation != 'CREATE' || " : ''}variables.spec.?nodeName.orValue('') == ''`,
      `' must be absent: the scheduler sets it'`,
    ),
    // The scheduler keeps every pod that such a term selects off the node, whoever's it is.
    podRule(
      'affinity.podAntiAffinity',
      'variables.spec.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]).all(t, !has(t.namespaceSelector) && size(t.?namespaces.orValue([])) == 0)',
      `' must not have namespaces or namespaceSelector where it is required: it would keep pods of others off nodes'`,
    ),
    // The API server fills in each of them from the other.
    ...['serviceAccountName', 'serviceAccount'].map((field) =>
      podRule(
        field,
        `variables.spec.?${field}.orValue('default') in ${celList(['', ...accounts])}`,
        allowedValues(accounts),
      ),
    ),
    podRule(
      'tolerations',
      'size(variables.intolerable) == 0',
      `' has the key ' + variables.intolerable.map(k, k == '' ? '(all)' : k).join(', ') + ': this key' + ${allowedValues(tolerations)}`,
    ),
    ...(form === 'template' && !tolerations.includes(unschedulable)
      ? [
          {
            holds: "object.kind != 'DaemonSet'",
            message: celString(
              `kind must not be DaemonSet: its pods tolerate ${unschedulable}, and this site does not allow that`,
            ),
          },
        ]
      : []),
    podRule(
      'priorityClassName',
      `variables.spec.?priorityClassName.orValue('') in ${celList(['', ...priorityClasses])}`,
      allowedValues(priorityClasses),
    ),
    podRule(
      'runtimeClassName',
      `variables.spec.?runtimeClassName.orValue('') in ${celList(['', ...runtimeClasses])}`,
      allowedValues(runtimeClasses),
    ),
  ];
}
