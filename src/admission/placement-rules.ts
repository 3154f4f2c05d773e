import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { allowed, type Form, listOf, ofPod, type Rule, type Variable } from './policy.ts';

export function placementVariables({ tolerations }: AdmissionParameters): Variable[] {
  return [
    {
      name: 'intolerable',
      // Kubernetes adds those of node.kubernetes.io. A toleration without a key matches every taint.
      expression: `variables.spec.?tolerations.orValue([]).map(t, t.?key.orValue('')).filter(k, !k.startsWith('node.kubernetes.io/') && !(k in ${listOf(tolerations)}))`,
    },
  ];
}

/** Node, priority, account, tolerations and runtime class, by the scheduler or the site's lists. */
export function placementRules(form: Form, parameters: AdmissionParameters): Rule[] {
  const { priorityClasses, runtimeClasses, tolerations } = parameters;
  const accounts = ['default', ...parameters.serviceAccounts];
  return [
    ofPod(
      'nodeName',
      // A scheduled pod has a node name.
      `${form === 'pod' ? "request.operation != 'CREATE' || " : ''}variables.spec.?nodeName.orValue('') == ''`,
      `' must be absent: the scheduler sets it'`,
    ),
    ofPod(
      'serviceAccountName',
      `variables.spec.?serviceAccountName.orValue('default') in ${listOf(accounts)}`,
      allowed(accounts),
    ),
    ofPod(
      'tolerations',
      'size(variables.intolerable) == 0',
      `' has the key ' + variables.intolerable.map(k, k == '' ? '(all)' : k).join(', ') + ', and' + ${allowed(tolerations)}`,
    ),
    ofPod(
      'priorityClassName',
      `variables.spec.?priorityClassName.orValue('') in ${listOf(['', ...priorityClasses])}`,
      allowed(priorityClasses),
    ),
    ofPod(
      'runtimeClassName',
      `variables.spec.?runtimeClassName.orValue('') in ${listOf(['', ...runtimeClasses])}`,
      allowed(runtimeClasses),
    ),
  ];
}
