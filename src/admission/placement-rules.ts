import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { allowed, type Form, listOf, ofPod, type Rule, type Variable } from './policy.ts';

export function placementVariables({ tolerations }: AdmissionParameters): Variable[] {
  return [
    {
      name: 'intolerable',
      // Kubernetes itself adds those of node.kubernetes.io. No key at all tolerates everything.
      expression: `variables.spec.?tolerations.orValue([]).map(t, t.?key.orValue('')).filter(k, !k.startsWith('node.kubernetes.io/') && !(k in ${listOf(tolerations)}))`,
    },
  ];
}

/** The scheduler says where a pod runs, the site how important it is and which account it has. */
export function placementRules(form: Form, parameters: AdmissionParameters): Rule[] {
  const { priorityClasses, runtimeClasses, tolerations } = parameters;
  const accounts = ['default', ...parameters.serviceAccounts];
  return [
    ofPod(
      'nodeName',
      // A pod that was scheduled has one.
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
