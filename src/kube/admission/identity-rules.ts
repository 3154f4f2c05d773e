import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { annotations } from '../objects/well-known-names.ts';
import { containers, identity } from './cel-variables.ts';
import {
  whenAbsent,
  type PodForm,
  containerRule,
  podRule,
  type Rule,
  type Variable,
} from './policy-types.ts';

const uid = `' must be ' + string(variables.uid) + ', the UID of this namespace (${annotations.uid})'`;
const gid = `' must be ' + string(variables.gid) + ', the GID of this namespace (${annotations.gid})'`;

export const identityVariables: readonly Variable[] = [containers, ...identity];

/** A pod may have only the user's UID, GID and groups. */
export function identityRules(
  form: PodForm,
  { supplementalGroupsPolicy }: AdmissionParameters,
): Rule[] {
  const pod = (field: string): string => `variables.spec.?securityContext.?${field}`;
  return [
    {
      holds: 'variables.uid > 0 && variables.gid > 0',
      message: `'your namespace does not have your UID and GID yet (annotations ${annotations.uid} and ${annotations.gid}): in the portal choose Help > Restart Web Server, or log in with ssh'`,
    },
    podRule(
      'securityContext.runAsUser',
      `${pod('runAsUser')}.orValue(${whenAbsent(form, '-1', 'variables.uid')}) == variables.uid`,
      uid,
    ),
    containerRule(
      'securityContext.runAsUser',
      'c.?securityContext.?runAsUser.orValue(variables.uid) != variables.uid',
      uid,
    ),
    podRule(
      'securityContext.runAsGroup',
      `${pod('runAsGroup')}.orValue(${whenAbsent(form, '-1', 'variables.gid')}) == variables.gid`,
      gid,
    ),
    containerRule(
      'securityContext.runAsGroup',
      'c.?securityContext.?runAsGroup.orValue(variables.gid) != variables.gid',
      gid,
    ),
    podRule(
      'securityContext.runAsNonRoot',
      `${pod('runAsNonRoot')}.orValue(${whenAbsent(form, 'false', 'true')}) == true`,
      `' must be true'`,
    ),
    containerRule(
      'securityContext.runAsNonRoot',
      '!c.?securityContext.?runAsNonRoot.orValue(true)',
      `' must be true or absent'`,
    ),
    podRule(
      'securityContext.fsGroup',
      `${pod('fsGroup')}.orValue(variables.gid) == variables.gid`,
      gid,
    ),
    podRule(
      'securityContext.supplementalGroups',
      `${pod('supplementalGroups')}.orValue([]).all(g, g in variables.groups)`,
      `' has ' + variables.spec.securityContext.supplementalGroups.filter(g, !(g in variables.groups)).map(g, string(g)).join(', ') + '; only the groups of this namespace (${annotations.groups}) are allowed: ' + variables.groups.map(g, string(g)).join(', ')`,
    ),
    // Merge adds the groups of the image's /etc/group, which any author of an image can set.
    ...(supplementalGroupsPolicy === 'Merge'
      ? []
      : [
          podRule(
            'securityContext.supplementalGroupsPolicy',
            `${pod('supplementalGroupsPolicy')}.orValue(${whenAbsent(form, "''", "'Strict'")}) == 'Strict'`,
            `' must be Strict: the groups come from the namespace, not from the image'`,
          ),
        ]),
  ];
}
