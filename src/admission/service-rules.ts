import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { celList, podRule, celString, type Rule } from './policy-types.ts';

/** Services receive traffic only at addresses that the cluster assigned (CVE-2020-8554). */
export function serviceRules({ loadBalancerClasses }: AdmissionParameters): Rule[] {
  const type = "object.spec.?type.orValue('ClusterIP')";
  const ofClass = `object.spec.?loadBalancerClass.orValue('default') in ${celList(loadBalancerClasses)}`;
  const balanced =
    loadBalancerClasses.length === 0
      ? ''
      : `, or LoadBalancer with one of these loadBalancerClass values: ${loadBalancerClasses.join(', ')}`;
  return [
    podRule(
      'type',
      `${type} in ['ClusterIP', 'NodePort'] || ${type} == 'LoadBalancer' && ${ofClass}`,
      celString(` must be ClusterIP or NodePort${balanced}`),
    ),
    podRule('externalIPs', 'size(object.spec.?externalIPs.orValue([])) == 0', `' must be absent'`),
    podRule(
      'loadBalancerIP',
      "object.spec.?loadBalancerIP.orValue('') == ''",
      `' must be absent: the load balancer assigns the address'`,
    ),
  ];
}

/** With endpoints a Service could forward to any address, as another user's pod or a file server, despite NetworkPolicies. */
export const endpointsRules: readonly Rule[] = [
  {
    holds: 'variables.component',
    message: celString(
      'only components of the cluster may write the endpoints and status of a Service',
    ),
  },
];
