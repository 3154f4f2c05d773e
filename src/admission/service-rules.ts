import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { celList, podRule, celString, type Rule, type Variable } from './policy-types.ts';

/**
 * The API server assigns addresses and node ports before policies are evaluated: that the request chose them is only in
 * `managedFields`. It has none at all if it could not compute them.
 */
export const writtenSpecs: Variable = {
  name: 'written',
  expression:
    "object.metadata.?managedFields.orValue([]).map(m, m.?fieldsV1[?'f:spec'].orValue({}))",
};

const clusterIps = (object: string): string =>
  `([${object}.spec.?clusterIP.orValue('')] + ${object}.spec.?clusterIPs.orValue([]))`;
const nodePorts = (object: string): string =>
  `([${object}.spec.?healthCheckNodePort.orValue(0)] + ${object}.spec.?ports.orValue([]).map(p, p.?nodePort.orValue(0)))`;

/** @param chosen CEL about the fields `f` of a spec that somebody wrote */
function assigned(
  field: string,
  none: string,
  values: (object: string) => string,
  chosen: string,
): Rule {
  const old = `request.operation == 'UPDATE' && a in ${values('oldObject')}`;
  return podRule(
    field,
    `${values('object')}.all(a, a in [${none}] || ${old}) || size(variables.written) > 0 && !variables.written.exists(f, ${chosen})`,
    `' must be absent: the cluster assigns it'`,
  );
}

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
    assigned('clusterIP', "'', 'None'", clusterIps, "'f:clusterIP' in f || 'f:clusterIPs' in f"),
    assigned(
      'ports.nodePort',
      '0',
      nodePorts,
      "'f:healthCheckNodePort' in f || f[?'f:ports'].orValue({}).exists(k, 'f:nodePort' in f['f:ports'][k])",
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
