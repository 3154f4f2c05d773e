import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { goDurationMs } from '../objects/go-duration.ts';
import { lifetimeAnnotation } from '../objects/well-known-names.ts';
import {
  celString,
  containerRule,
  type MatchedRequests,
  podRule,
  type Rule,
  type Variable,
} from './policy-types.ts';

/** A duration of Go's ParseDuration with hours, minutes and seconds only, without a sign. */
const format = celString(
  '^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,6}([.][0-9]{1,3})?m)?([0-9]{1,7}([.][0-9]{1,3})?s)?$',
);
const deadline = 'variables.spec.?activeDeadlineSeconds.orValue(0)';
const lifetimeOf = (object: string): string =>
  `${object}.metadata.?annotations[?'${lifetimeAnnotation}'].orValue('')`;

export const lifetimeVariables: readonly Variable[] = [
  { name: 'lifetime', expression: lifetimeOf('object') },
  // An existing value may stay, so that labels and status can still change.
  {
    name: 'unchanged',
    expression: `request.operation == 'UPDATE' && variables.lifetime == ${lifetimeOf('oldObject')} && ${deadline} == oldObject.spec.?activeDeadlineSeconds.orValue(0)`,
  },
];

const key = `metadata.annotations[${lifetimeAnnotation}]`;
const missing = (maxLifetime: string): string =>
  celString(
    `${key} must be set to the lifetime of the pod, for example 2h30m, at most ${maxLifetime}`,
  );

/**
 * Every pod has a lifetime annotation within the site's limit. A deadline alone would end only its processes, and only
 * if a node has started them.
 */
export function lifetimeRules({ maxLifetime }: AdmissionParameters): Rule[] {
  const max = `duration('${maxLifetime}')`;
  return [
    {
      holds: `variables.unchanged || ${deadline} == 0 || duration(string(${deadline}) + 's') <= ${max}`,
      message: celString(`spec.activeDeadlineSeconds must be at most ${maxLifetime}`),
    },
    {
      holds: `variables.unchanged || variables.lifetime != ''`,
      message: missing(maxLifetime),
    },
    {
      holds: `variables.unchanged || variables.lifetime.matches(${format}) && duration(variables.lifetime) > duration('0s') && duration(variables.lifetime) <= ${max}`,
      message: `${celString(`${key} is `)} + variables.lifetime + ${celString(` and must be a duration like 2h30m, at most ${maxLifetime}`)}`,
    },
  ];
}

/** For templates if no default is filled in. The value is checked in the pods. */
export function templateLifetimeRules({ maxLifetime }: AdmissionParameters): Rule[] {
  return [
    {
      holds: `variables.annotations[?'${lifetimeAnnotation}'].orValue('') != ''`,
      message: missing(maxLifetime),
    },
  ];
}

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
