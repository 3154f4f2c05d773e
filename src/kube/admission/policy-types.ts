/** A named CEL expression, evaluated lazily and once for each request. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
  /** Replaces it by user names, for an engine without `authorizer`. */
  readonly byName?: string;
}

/** A condition and the message if it does not hold, both in CEL. */
export interface Rule {
  /** True if the request is allowed. */
  readonly holds: string;
  /** The same for a rule about each element of a list, so that a list is iterated once for all rules. */
  readonly each?: EachRule;
  /** Without it, the rule applies to all requests of the policy. */
  readonly when?: When;
  /** A string: the field and the allowed values. The contact is appended. */
  readonly message: string;
}

/** The requests of a policy to which a rule applies, in CEL. */
export interface When {
  readonly applies: string;
  /** The same for messages, which cannot use `authorizer`: true at least where `applies` is. */
  readonly mayApply: string;
}

/** Holds if `violated` is true for no element. */
export interface EachRule {
  readonly list: 'containers' | 'volumes';
  /** The variable of an element in `violated`. */
  readonly element: 'c' | 'v';
  /** CEL about the element. */
  readonly violated: string;
}

/** The requests that a policy matches. */
export interface MatchedRequests {
  readonly apiGroups: readonly string[];
  /** Default: `v1`, to which the API server converts requests of other versions. */
  readonly apiVersions?: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
}

/** A validating policy as data, independent of the engine. */
export interface Policy {
  /** Without the prefix. */
  readonly name: string;
  /** Its purpose, for its description in the cluster. */
  readonly about: string;
  readonly matched: readonly MatchedRequests[];
  /** Whether it covers only namespaces of users; else `conditions` limit it. */
  readonly ofUsers: boolean;
  /** The policy applies only if all of them are true. */
  readonly conditions: readonly Variable[];
  readonly variables: readonly Variable[];
  readonly rules: readonly Rule[];
  /** CEL, a string: appended to the message of a broken rule. */
  readonly advice?: string;
}

/**
 * A pod has all fields that the API server, its plugins and our defaults have filled in: none may be missing.
 * A template may omit fields that are filled in later, but not set other values; without our defaults
 * it must set what they would fill in.
 */
export type PodForm = 'pod' | 'template';

/** The value for an absent field: fails in a pod, passes in a template. */
export function whenAbsent(form: PodForm, fails: string, passes: string): string {
  return form === 'pod' ? fails : passes;
}

/** A CEL string literal. */
export function celString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** A CEL list of strings. */
export function celList(texts: readonly string[]): string {
  return `[${texts.map(celString).join(', ')}]`;
}

/** The end of a message: the allowed values. */
export function allowedValues(texts: readonly string[]): string {
  return celString(
    texts.length === 0
      ? ' is not allowed: this site allows no value'
      : ` must be one of the values that this site allows: ${texts.join(', ')}`,
  );
}

/**
 * A rule about each container of every kind. The message names those that violate it.
 *
 * @param field Below the container.
 * @param violated CEL about `c`.
 * @param wanted CEL, a string: how the field must be.
 */
export function containerRule(field: string, violated: string, wanted: string): Rule {
  return {
    holds: `!variables.containers.exists(c, ${violated})`,
    each: { list: 'containers', element: 'c', violated },
    message: `${celString(`${field} of container `)} + variables.containers.filter(c, ${violated}).map(c, c.name).join(', ') + ${wanted}`,
  };
}

/** A rule about each volume: as `containerRule`, with `v`. */
export function volumeRule(field: string, violated: string, wanted: string): Rule {
  return {
    holds: `!variables.volumes.exists(v, ${violated})`,
    each: { list: 'volumes', element: 'v', violated },
    message: `${celString(`${field} of volume `)} + variables.volumes.filter(v, ${violated}).map(v, v.name).join(', ') + ${wanted}`,
  };
}

/** A rule about a field of the pod. */
export function podRule(field: string, holds: string, wanted: string): Rule {
  return { holds, message: `${celString(`spec.${field}`)} + ${wanted}` };
}
