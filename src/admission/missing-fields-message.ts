import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { lifetimeAnnotation } from '../desired/well-known-names.ts';
import { celString } from './policy-types.ts';

/**
 * CEL, a string: all fields that a pod must set if none are filled in, so that its author gets them in one
 * message. Empty if the pod sets `runAsUser`: then a single field is missing.
 */
export function missingFieldsMessage({ supplementalGroupsPolicy }: AdmissionParameters): string {
  const context = [
    `${celString('runAsUser: ')} + string(variables.uid)`,
    `${celString(', runAsGroup: ')} + string(variables.gid)`,
    `${celString(', runAsNonRoot: true, supplementalGroups: [')} + variables.groups.map(g, string(g)).join(', ') + ']'`,
    celString(supplementalGroupsPolicy === 'Strict' ? ', supplementalGroupsPolicy: Strict' : ''),
    celString(', seccompProfile: {type: RuntimeDefault}'),
  ].join(' + ');
  const rest = [
    '} for the pod, securityContext {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}',
    'and resources (requests and limits of cpu and memory) for each container, and the annotation',
    lifetimeAnnotation,
  ].join(' ');
  const known = 'variables.uid > 0 && variables.gid > 0';
  const silent = '!variables.spec.?securityContext.?runAsUser.hasValue()';
  const start = '. This cluster sets no defaults. Set securityContext {';
  return `(${known} && ${silent} ? ${celString(start)} + ${context} + ${celString(rest)} : '')`;
}
