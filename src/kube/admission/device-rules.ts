import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import {
  allowedValues,
  celList,
  celString,
  containerRule,
  podRule,
  type Rule,
  type Variable,
} from './policy-types.ts';

/** Prefix of resources for which the scheduler makes a claim of a class (KEP-5004). */
const implicit = 'deviceclass.resource.kubernetes.io/';

/** Devices of dynamic resource allocation in a pod. Its claims and templates have a policy of their own. */
export function deviceRules({ deviceClasses }: AdmissionParameters): Rule[] {
  const allowed = celList(deviceClasses.map((name) => implicit + name));
  const foreign = `k.startsWith(${celString(implicit)}) && !(k in ${allowed})`;
  return [
    ...(deviceClasses.length === 0
      ? [
          podRule(
            'resourceClaims',
            'size(variables.spec.?resourceClaims.orValue([])) == 0',
            allowedValues(deviceClasses),
          ),
        ]
      : []),
    containerRule(
      `resources of ${implicit}`,
      ['requests', 'limits']
        .map((list) => `c.?resources.?${list}.orValue({}).exists(k, ${foreign})`)
        .join(' || '),
      allowedValues(deviceClasses),
    ),
  ];
}

/** All that a claim or template requests, as v1 and as v1beta1 have it. */
export const claimedClasses: Variable = {
  name: 'requested',
  expression: [
    '(has(dyn(object.spec).spec) ? dyn(object.spec).spec : dyn(object.spec)).?devices.?requests.orValue([])',
    '.map(r, [dyn(r)] + (has(r.exactly) ? [dyn(r.exactly)] : []) + dyn(r.?firstAvailable.orValue([])))',
  ].join(''),
};

export function deviceClaimRules({ deviceClasses }: AdmissionParameters): Rule[] {
  const none = (violated: string): string =>
    `!variables.requested.exists(all, all.exists(r, ${violated}))`;
  return [
    podRule(
      'devices.requests.deviceClassName',
      none(`has(r.deviceClassName) && !(r.deviceClassName in ${celList(deviceClasses)})`),
      allowedValues(deviceClasses),
    ),
    podRule(
      'devices.requests.adminAccess',
      none('r.?adminAccess.orValue(false)'),
      `' must be false or absent'`,
    ),
  ];
}
