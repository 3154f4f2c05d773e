import type { AdmissionParameters } from '../config/schema/admission-parameters.ts';
import {
  allowedValues,
  celList,
  podRule,
  volumeRule,
  celString,
  type Rule,
} from './policy-types.ts';

/** Fields of a claim that select an existing volume, existing data or a class that no list has. */
const leading = [
  ...['volumeName', 'selector', 'dataSource', 'dataSourceRef'],
  'volumeAttributesClassName',
];
const made = celString(' must be absent: users get a new volume, not an existing one');
/** Takes precedence over the field (component-helpers/storage/volume, GetPersistentVolumeClaimClass). */
const oldClass = 'volume.beta.kubernetes.io/storage-class';

/**
 * A controller creates the PersistentVolumeClaim of an ephemeral volume with its own permissions, so the claim could be bound
 * to a volume that an admin created for others, for instance a hostPath.
 */
export function ephemeralRules({ storageClasses }: AdmissionParameters): Rule[] {
  const template = 'v.?ephemeral.?volumeClaimTemplate';
  const field = (name: string): string => `ephemeral.volumeClaimTemplate.${name}`;
  return [
    ...leading.map((name) =>
      volumeRule(field(`spec.${name}`), `${template}.?spec.?${name}.hasValue()`, made),
    ),
    // Without a class it gets the cluster's default, or, if there is none, any volume without a class.
    volumeRule(
      field('spec.storageClassName'),
      `has(v.ephemeral) && !(${template}.?spec.?storageClassName.orValue('') in ${celList(storageClasses)})`,
      allowedValues(storageClasses),
    ),
    volumeRule(
      field('metadata.annotations'),
      `size(${template}.?metadata.?annotations.orValue({})) > 0`,
      `' must be absent: annotations can configure the provisioner'`,
    ),
  ];
}

/** The same for claims that users create. The API server has filled in the default class. */
export function claimRules({ storageClasses }: AdmissionParameters): Rule[] {
  return [
    ...leading.map((name) => podRule(name, `!object.spec.?${name}.hasValue()`, made)),
    podRule(
      'storageClassName',
      `object.metadata.?annotations[?'${oldClass}'].or(object.spec.?storageClassName).orValue('') in ${celList(storageClasses)}`,
      allowedValues(storageClasses),
    ),
  ];
}
