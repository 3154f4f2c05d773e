import { lifetimeAnnotation } from '../objects/well-known-names.ts';
import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { identity } from './cel-variables.ts';
import { type MatchedRequests, celString, type Variable } from './policy-types.ts';

/** A mutating policy as data, as `Policy` is a validating one. */
export interface Defaults {
  readonly name: string;
  readonly about: string;
  readonly matched: readonly MatchedRequests[];
  readonly variables: readonly Variable[];
  /** CEL: a list of `JSONPatch`. ApplyConfiguration cannot be used, because it would replace whole lists. */
  readonly patch: string;
}

/** One operation of RFC 6902 with its condition, all in CEL. */
function add(condition: string, path: string, value: string): string {
  return `(${condition} ? [JSONPatch{op: 'add', path: ${path}, value: ${value}}] : [])`;
}

/**
 * A missing object is added with one operation: the API server decodes the pod again for each
 * operation, and most pods set nothing.
 */
function whole(isEmpty: string, all: string, each: readonly string[]): string {
  return `(${isEmpty} ? ${all} : ${each.join(' + ')})`;
}

/** The user's identity, if the pod sets none. */
function ofPod({ supplementalGroupsPolicy }: AdmissionParameters): string {
  const context = 'object.spec.?securityContext';
  const missing = (field: string, value: string, when = 'true'): string =>
    add(`${when} && !${context}.?${field}.hasValue()`, `'/spec/securityContext/${field}'`, value);
  // A namespace without a user has no identity to fill in; the policies refuse the pod.
  const known = 'variables.uid > 0 && variables.gid > 0';
  const seccomp = "Object.spec.securityContext.seccompProfile{type: 'RuntimeDefault'}";
  const strict = supplementalGroupsPolicy === 'Strict';
  const fields = [
    'runAsUser: variables.uid',
    'runAsGroup: variables.gid',
    'runAsNonRoot: true',
    'supplementalGroups: variables.groups',
    ...(strict ? ["supplementalGroupsPolicy: 'Strict'"] : []),
    `seccompProfile: ${seccomp}`,
  ];
  return whole(
    `${known} && ${context}.orValue({}) == {}`,
    add('true', "'/spec/securityContext'", `Object.spec.securityContext{${fields.join(', ')}}`),
    [
      add(`!${context}.hasValue()`, "'/spec/securityContext'", 'Object.spec.securityContext{}'),
      missing('runAsUser', 'variables.uid', known),
      missing('runAsGroup', 'variables.gid', known),
      missing('runAsNonRoot', 'true'),
      // The API treats an empty list as absent.
      missing('supplementalGroups', 'variables.groups', known),
      ...(strict ? [missing('supplementalGroupsPolicy', "'Strict'")] : []),
      missing('seccompProfile', seccomp),
    ],
  );
}

/**
 * A pod without a lifetime gets one, from its own deadline or the site's default: `berth reap` deletes pods by the
 * annotation, including those that never started.
 */
function lifetime({ defaultLifetime }: AdmissionParameters): string[] {
  const deadline = 'object.spec.?activeDeadlineSeconds';
  const known = defaultLifetime === undefined ? ` && ${deadline}.hasValue()` : '';
  const wanted = `!object.metadata.?annotations[?'${lifetimeAnnotation}'].hasValue()${known}`;
  const value = `(${deadline}.hasValue() ? string(object.spec.activeDeadlineSeconds) + 's' : ${celString(defaultLifetime ?? '')})`;
  const some = 'has(object.metadata.annotations)';
  return [
    add(`${wanted} && !${some}`, "'/metadata/annotations'", `{'${lifetimeAnnotation}': ${value}}`),
    add(
      `${wanted} && ${some}`,
      `'/metadata/annotations/' + jsonpatch.escapeKey('${lifetimeAnnotation}')`,
      value,
    ),
  ];
}

/** Missing fields of each container of a list; `at` is its path, `kind` its list. */
function ofContainer(kind: string, at: string): string {
  const context = 'c.?securityContext';
  const type = `Object.spec.${kind}.securityContext`;
  const least = `${type}{allowPrivilegeEscalation: false, capabilities: ${type}.capabilities{drop: ['ALL']}}`;
  return whole(`${context}.orValue({}) == {}`, add('true', `${at} + '/securityContext'`, least), [
    add(`!${context}.hasValue()`, `${at} + '/securityContext'`, `${type}{}`),
    // The API server refuses these two together; the message of our policy also names a contact.
    add(
      `!${context}.?allowPrivilegeEscalation.hasValue() && !${context}.?privileged.orValue(false) && !${context}.?capabilities.?add.orValue([]).exists(a, a in ['SYS_ADMIN', 'CAP_SYS_ADMIN'])`,
      `${at} + '/securityContext/allowPrivilegeEscalation'`,
      'false',
    ),
    add(
      `!${context}.?capabilities.hasValue()`,
      `${at} + '/securityContext/capabilities'`,
      `${type}.capabilities{}`,
    ),
    add(
      `size(${context}.?capabilities.?drop.orValue([])) == 0`,
      `${at} + '/securityContext/capabilities/drop'`,
      "['ALL']",
    ),
    add(
      `size(${context}.?capabilities.?drop.orValue([])) > 0 && !('ALL' in c.securityContext.capabilities.drop)`,
      `${at} + '/securityContext/capabilities/drop/-'`,
      "'ALL'",
    ),
  ]);
}

/** Requests and limits: each defaults to the other, then to the site's value. */
function resources(kind: string, at: string, { defaultResources }: AdmissionParameters): string {
  const type = `Object.spec.${kind}.resources`;
  const has = (path: string): string => `c.?resources.?${path}`;
  const each = (list: 'requests' | 'limits', other: string, name: 'cpu' | 'memory'): string => {
    const value = `${has(`${list}.?${name}`)}.or(${has(`${other}.?${name}`)}).orValue(${celString(defaultResources[name] ?? '')})`;
    return add(
      `!${has(`${list}.?${name}`)}.hasValue() && !object.spec.?resources.?${list}.?${name}.hasValue() && ${value} != ''`,
      `${at} + '/resources/${list}/${name}'`,
      value,
    );
  };
  const values = (['cpu', 'memory'] as const)
    .flatMap((name) => {
      const value = defaultResources[name];
      return value === undefined ? [] : [`'${name}': ${celString(value)}`];
    })
    .join(', ');
  const both = `${type}{limits: {${values}}, requests: {${values}}}`;
  return whole(
    'c.?resources.orValue({}) == {} && object.spec.?resources.orValue({}) == {}',
    values === '' ? '[]' : add('true', `${at} + '/resources'`, both),
    [
      add(`!has(c.resources)`, `${at} + '/resources'`, `${type}{}`),
      add(`!${has('limits')}.hasValue()`, `${at} + '/resources/limits'`, `${type}.limits{}`),
      add(`!${has('requests')}.hasValue()`, `${at} + '/resources/requests'`, `${type}.requests{}`),
      ...(['cpu', 'memory'] as const).flatMap((name) => [
        each('limits', 'requests', name),
        each('requests', 'limits', name),
      ]),
    ],
  );
}

function ofList(
  kind: string,
  patches: (kind: string, at: string) => string[],
  from: string,
): string {
  return `${from}.transformList(i, c, ${patches(kind, `'/spec/${kind}/' + string(i)`).join(' + ')}).flatten()`;
}

/** Fills in missing fields, so that a plain `kubectl run` passes the policies. */
export function podDefaults(parameters: AdmissionParameters): Defaults {
  const full = (kind: string, at: string): string[] => [
    ofContainer(kind, at),
    resources(kind, at, parameters),
  ];
  const created = [
    ofPod(parameters),
    ...lifetime(parameters),
    ofList('containers', full, 'object.spec.containers'),
    ofList('initContainers', full, 'object.spec.?initContainers.orValue([])'),
  ];
  return {
    name: 'pod-defaults',
    about: 'Fills in unset fields of a pod: the identity of the namespace and minimal rights.',
    matched: [{ apiGroups: [''], resources: ['pods'], operations: ['CREATE'] }],
    variables: identity,
    patch: created.join(' + '),
  };
}

/** The same for `kubectl debug`. Existing ephemeral containers cannot be changed. */
export function debugDefaults(): Defaults {
  const old = 'oldObject.spec.?ephemeralContainers.orValue([]).exists(o, o.name == c.name)';
  const patches = (kind: string, at: string): string[] => [
    `(${old} ? [] : ${ofContainer(kind, at)})`,
  ];
  return {
    name: 'debug-defaults',
    about: 'Fills in unset fields of an ephemeral container.',
    matched: [{ apiGroups: [''], resources: ['pods/ephemeralcontainers'], operations: ['UPDATE'] }],
    variables: [],
    patch: ofList('ephemeralContainers', patches, 'object.spec.?ephemeralContainers.orValue([])'),
  };
}
