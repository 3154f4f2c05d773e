import type { AdmissionParameters } from '../config/admission-parameters.ts';
import {
  allowedValues,
  type PodForm,
  celList,
  podRule,
  type Rule,
  type Variable,
} from './policy-types.ts';

export function placementVariables({ tolerations }: AdmissionParameters): Variable[] {
  return [
    {
      name: 'intolerable',
      // Kubernetes adds those of node.kubernetes.io. A toleration without a key matches every taint.
      expression: `variables.spec.?tolerations.orValue([]).map(t, t.?key.orValue('')).filter(k, !k.startsWith('node.kubernetes.io/') && !(k in ${celList(tolerations)}))`,
    },
  ];
}

/** Node, priority, account, tolerations and runtime class, by the scheduler or the site's lists. */
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
