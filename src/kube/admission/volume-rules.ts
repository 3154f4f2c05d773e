import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { isForeign } from './annotation-rules.ts';
import { userVolumeLabel } from '../objects/well-known-names.ts';
import { owner, volumes } from './cel-variables.ts';
import {
  allowedValues,
  celList,
  celString,
  containerRule,
  type Rule,
  type Variable,
  volumeRule,
} from './policy-types.ts';

/** Kinds with contents of the namespace only, or with a rule below. */
const kinds = [
  'configMap',
  'secret',
  'emptyDir',
  'downwardAPI',
  'projected',
  'persistentVolumeClaim',
  'ephemeral',
  'image',
  'hostPath',
  'nfs',
  'csi',
];

/** Allowed sources of a projected volume. */
const sources = ['configMap', 'secret', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle'];

/**
 * The site's patterns as a CEL list of regular expressions: `*` is one part of a path, `{user}` the owner.
 * Only one part, because a symlink in a directory that a user can write may lead anywhere on the host.
 */
function patterns(paths: readonly string[]): string {
  const one = (path: string): string =>
    path
      .split('{user}')
      .map((part) => celString(part.replaceAll(/[.+]/g, '[$&]').replaceAll('*', '[^/]+')))
      .join(' + variables.ownerPattern + ');
  return `[${paths.map((path) => `'^' + ${one(path)} + '/?$'`).join(', ')}]`;
}

export function volumeVariables({ hostPaths, nfs }: AdmissionParameters): Variable[] {
  const readable = patterns(hostPaths.map(({ path }) => path));
  const writable = patterns(hostPaths.filter(({ readOnly }) => !readOnly).map(({ path }) => path));
  return [
    volumes,
    owner,
    {
      name: 'ownerPattern',
      // Without an owner no home is allowed.
      expression: "variables.owner == '' ? '/' : variables.owner.replace('.', '[.]')",
    },
    { name: 'readable', expression: readable },
    { name: 'writable', expression: writable },
    { name: 'servers', expression: patterns(nfs) },
    {
      name: 'onHost',
      expression: 'variables.volumes.filter(v, has(v.hostPath)).map(v, v.name)',
    },
    {
      name: 'onlyReadable',
      expression:
        'variables.volumes.filter(v, has(v.hostPath) && !variables.writable.exists(p, v.hostPath.path.matches(p))).map(v, v.name)',
    },
  ];
}

/** Paths that are not normalised; the API server refuses some of these itself. */
const crooked = (path: string): string =>
  `${path}.contains('//') || ${path}.matches('/[.]{1,2}(/|$)')`;

/** Volumes of the host or of a server must be on the site's list. */
export function volumeRules(parameters: AdmissionParameters): Rule[] {
  const { hostPaths, nfs, csiDrivers, tokenAudiences } = parameters;
  const mounts = (violated: string): string => `c.?volumeMounts.orValue([]).exists(m, ${violated})`;
  return [
    volumeRule(
      'kind',
      `!(${kinds.map((kind) => `has(v.${kind})`).join(' || ')})`,
      celString(` must be one of ${kinds.join(', ')}`),
    ),
    volumeRule(
      'hostPath.path',
      `has(v.hostPath) && (${crooked('v.hostPath.path')} || !variables.readable.exists(p, v.hostPath.path.matches(p)))`,
      allowedValues(
        hostPaths.map(({ path, readOnly }) => `${path}${readOnly ? ' (read-only)' : ''}`),
      ),
    ),
    volumeRule(
      'hostPath.type',
      "has(v.hostPath) && !(v.hostPath.?type.orValue('') in ['', 'Directory', 'File'])",
      `' must be Directory, File or absent: pods may not create anything on the host or open devices or sockets'`,
    ),
    containerRule(
      'volumeMounts.readOnly',
      mounts('m.name in variables.onlyReadable && !m.?readOnly.orValue(false)'),
      `' must be true for ' + variables.onlyReadable.join(', ')`,
    ),
    // Several faults of the kubelet allowed an escape through a path below a host directory.
    containerRule(
      'volumeMounts.subPath',
      mounts(
        "m.name in variables.onHost && (m.?subPath.orValue('') != '' || m.?subPathExpr.orValue('') != '')",
      ),
      `' must be absent for the host paths ' + variables.onHost.join(', ')`,
    ),
    containerRule(
      'volumeMounts.mountPropagation',
      mounts("m.?mountPropagation.orValue('None') == 'Bidirectional'"),
      `' must not be Bidirectional'`,
    ),
    volumeRule(
      'nfs',
      `has(v.nfs) && (${crooked('v.nfs.path')} || !variables.servers.exists(p, (v.nfs.server + ':' + v.nfs.path).matches(p)))`,
      allowedValues(nfs),
    ),
    volumeRule(
      'csi.driver',
      `has(v.csi) && !(v.csi.driver in ${celList(csiDrivers)})`,
      allowedValues(csiDrivers),
    ),
    volumeRule(
      'projected.sources',
      `has(v.projected) && v.projected.?sources.orValue([]).exists(s, !(${sources.map((source) => `has(s.${source})`).join(' || ')}))`,
      celString(` must be of ${sources.join(', ')}`),
    ),
    volumeRule(
      'projected.sources.serviceAccountToken.audience',
      `has(v.projected) && v.projected.?sources.orValue([]).exists(s, !(s.?serviceAccountToken.?audience.orValue('') in ${celList(['', ...tokenAudiences])}))`,
      celString(` must be absent${tokenAudiences.map((one) => ` or ${one}`).join('')}`),
    ),
    ...ephemeralRules(parameters),
  ];
}

/** Fields of a claim that select an existing volume, existing data or a class that no list has. */
const leading = [
  'volumeName',
  'selector',
  'dataSource',
  'dataSourceRef',
  'volumeAttributesClassName',
];
const made = celString(' must be absent: users get a new volume, not an existing one');
/** Takes precedence over the field (component-helpers/storage/volume, GetPersistentVolumeClaimClass). */
const oldClass = 'volume.beta.kubernetes.io/storage-class';

interface Fault {
  readonly field: string;
  /** CEL. */
  readonly violated: string;
  /** CEL, a string. */
  readonly wanted: string;
}

/**
 * What no claim of a user may ask for.
 *
 * @param claim CEL: the claim, or an optional of it
 * @param classLater whether a default class is filled in later
 */
function claimFaults(
  claim: string,
  { storageClasses }: AdmissionParameters,
  classLater = false,
): readonly Fault[] {
  const named = `${claim}.?metadata.?annotations[?'${oldClass}'].or(${claim}.?spec.?storageClassName)`;
  const ofNoClass = `!(${named}.orValue('') in ${celList(storageClasses)})`;
  return [
    ...leading.map((name) => ({
      field: `spec.${name}`,
      violated: `${claim}.?spec.?${name}.hasValue()`,
      wanted: made,
    })),
    {
      field: 'spec.storageClassName',
      violated: classLater ? `${named}.hasValue() && ${ofNoClass}` : ofNoClass,
      wanted: allowedValues(storageClasses),
    },
  ];
}

/** CEL about a key `k` of a claim's annotations, which provisioners read; the old class has a rule. */
export function isClaimOrder({ claimAnnotations }: AdmissionParameters): string {
  return isForeign([...claimAnnotations, oldClass]);
}

/** The faults of a claim that a controller makes from a template, with its own rights. */
function templateFaults(
  template: string,
  parameters: AdmissionParameters,
  classLater = false,
): readonly Fault[] {
  return [
    ...claimFaults(template, parameters, classLater),
    {
      field: 'metadata.annotations',
      violated: `${template}.?metadata.?annotations.orValue({}).exists(k, ${isClaimOrder(parameters)})`,
      wanted:
        "' must only have keys that this site allows: annotations can configure the provisioner'",
    },
    {
      field: 'metadata.labels',
      violated: `${template}.?metadata.?labels[?'${userVolumeLabel}'].hasValue()`,
      wanted: celString(` must not have ${userVolumeLabel}: only the login hook sets it`),
    },
  ];
}

/**
 * A controller creates the PersistentVolumeClaim of an ephemeral volume with its own permissions, so the claim could be bound
 * to a volume that an admin created for others, for instance a hostPath. Without a class it gets the cluster's default, or, if
 * there is none, any volume without a class.
 */
function ephemeralRules(parameters: AdmissionParameters): Rule[] {
  const template = 'v.?ephemeral.?volumeClaimTemplate';
  return templateFaults(template, parameters).map(({ field, violated, wanted }) =>
    volumeRule(
      `ephemeral.volumeClaimTemplate.${field}`,
      `has(v.ephemeral) && (${violated})`,
      wanted,
    ),
  );
}

/** Of StatefulSets. */
export const claimTemplates: Variable = {
  name: 'claimTemplates',
  expression: 'dyn(object).?spec.?volumeClaimTemplates.orValue([])',
};

/** The same for them: here the author sees the refusal. A default class is filled in later. */
export function claimTemplateRules(parameters: AdmissionParameters): Rule[] {
  return templateFaults('t', parameters, true).map(({ field, violated, wanted }) => ({
    holds: `!variables.claimTemplates.exists(t, ${violated})`,
    message: `${celString(`${field} of volumeClaimTemplates `)} + variables.claimTemplates.filter(t, ${violated}).map(t, t.metadata.name).join(', ') + ${wanted}`,
  }));
}

/** The same for claims themselves. The API server has filled in the default class. */
export function claimRules(parameters: AdmissionParameters): Rule[] {
  return claimFaults('object', parameters).map(({ field, violated, wanted }) => ({
    holds: `!(${violated})`,
    message: `${celString(field)} + ${wanted}`,
  }));
}
