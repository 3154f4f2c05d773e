import type { AdmissionParameters } from '../config/schema/admission-parameters.ts';
import { goDurationMs } from '../kube/objects/go-duration.ts';
import {
  type MatchedRequests,
  containerRule,
  podRule,
  celString,
  type Rule,
  type Variable,
} from './policy-types.ts';

/** In seconds: a user's number may be larger than CEL's durations. */
function seconds({ maxGracePeriod }: AdmissionParameters): number {
  return Math.floor((goDurationMs(maxGracePeriod) ?? 0) / 1000);
}

function wanted({ maxGracePeriod }: AdmissionParameters): string {
  return celString(` must be at most ${maxGracePeriod}`);
}

/**
 * Limits the time between the deletion of a pod and the end of its processes. Without it a pod could outlive its
 * lifetime, and a forcibly deleted pod would keep running without an API object, since the kubelet uses the grace
 * period of its spec.
 */
export function graceRules(parameters: AdmissionParameters): Rule[] {
  const most = seconds(parameters);
  return [
    podRule(
      'terminationGracePeriodSeconds',
      `variables.spec.?terminationGracePeriodSeconds.orValue(0) <= ${most}`,
      wanted(parameters),
    ),
    // The kubelet uses these for the whole container when the probe fails.
    ...['livenessProbe', 'startupProbe'].map((probe) =>
      containerRule(
        `${probe}.terminationGracePeriodSeconds`,
        `c.?${probe}.?terminationGracePeriodSeconds.orValue(0) > ${most}`,
        wanted(parameters),
      ),
    ),
  ];
}

/** Deletions and evictions, whose options can set the grace period. */
export const deletions: readonly MatchedRequests[] = [
  { apiGroups: [''], resources: ['pods'], operations: ['DELETE'] },
  { apiGroups: [''], resources: ['pods/eviction'], operations: ['CREATE'] },
];

export const deletionVariables: readonly Variable[] = [
  {
    name: 'grace',
    expression:
      "request.operation == 'DELETE' ? (has(request.options.gracePeriodSeconds) ? request.options.gracePeriodSeconds : 0) : dyn(object).?deleteOptions.?gracePeriodSeconds.orValue(0)",
  },
];

/** Existing pods may be deleted with the grace period of their spec, which the API server fills in. */
export function deletionRules(parameters: AdmissionParameters): Rule[] {
  return [
    {
      holds: `int(variables.grace) <= ${seconds(parameters)} || request.operation == 'DELETE' && int(variables.grace) == int(oldObject.spec.?terminationGracePeriodSeconds.orValue(0))`,
      message: `'gracePeriodSeconds' + ${wanted(parameters)}`,
    },
  ];
}
