import type { AdmissionParameters } from '../config/schema/admission-parameters.ts';
import { owner, volumes } from './cel-variables.ts';
import {
  allowedValues,
  celList,
  celString,
  containerRule,
  podRule,
  type Rule,
  type Variable,
  volumeRule,
} from './policy-types.ts';

/** Kinds with contents of the namespace only, or with a rule below. */
const kinds = [
  ...['configMap', 'secret', 'emptyDir', 'downwardAPI', 'projected', 'persistentVolumeClaim'],
  ...['ephemeral', 'image', 'hostPath', 'nfs', 'csi'],
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
function ephemeralRules({ storageClasses }: AdmissionParameters): Rule[] {
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
