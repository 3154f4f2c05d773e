import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { goDurationMs } from '../desired/go-duration.ts';
import { type Matched, ofContainers, ofPod, quoted, type Rule, type Variable } from './policy.ts';

/** Seconds: a number of the user's may be larger than any of CEL's durations. */
function seconds({ maxGracePeriod }: AdmissionParameters): number {
  return Math.floor((goDurationMs(maxGracePeriod) ?? 0) / 1000);
}

function wanted({ maxGracePeriod }: AdmissionParameters): string {
  return quoted(` must be at most ${maxGracePeriod}`);
}

/**
 * Between the deletion of a pod and the end of its processes lies no more than the site allows: else a pod
 * outlives its lifetime, and one that is deleted by force runs on where nobody sees it, since the kubelet
 * gives it the time that its spec says.
 */
export function graceRules(parameters: AdmissionParameters): Rule[] {
  const most = seconds(parameters);
  return [
    ofPod(
      'terminationGracePeriodSeconds',
      `variables.spec.?terminationGracePeriodSeconds.orValue(0) <= ${most}`,
      wanted(parameters),
    ),
    // The kubelet takes these for the whole container where the probe fails.
    ...['livenessProbe', 'startupProbe'].map((probe) =>
      ofContainers(
        `${probe}.terminationGracePeriodSeconds`,
        `c.?${probe}.?terminationGracePeriodSeconds.orValue(0) > ${most}`,
        wanted(parameters),
      ),
    ),
  ];
}

/** Who deletes a pod says how long its processes may take, and an eviction does. */
export const deletions: readonly Matched[] = [
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

/** A pod from before the policies is deleted with what it says itself: the API server fills that in. */
export function deletionRules(parameters: AdmissionParameters): Rule[] {
  return [
    {
      holds: `int(variables.grace) <= ${seconds(parameters)} || request.operation == 'DELETE' && int(variables.grace) == int(oldObject.spec.?terminationGracePeriodSeconds.orValue(0))`,
      message: `'gracePeriodSeconds' + ${wanted(parameters)}`,
    },
  ];
}
