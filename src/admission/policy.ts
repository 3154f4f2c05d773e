/** A CEL expression with a name; evaluated when it is first asked for, once a request. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
  /** In its place where the engine has no `authorizer`: knows requesters by their names. */
  readonly byName?: string;
}

/** One thing that must be so, and what is said when it is not. Both are CEL. */
export interface Rule {
  /** True where all is well. */
  readonly holds: string;
  /** The same for a rule about each element of a list: who has many such rules asks in one turn. */
  readonly each?: EachRule;
  /** A string: the field, the value wanted. Whom to ask is added behind it. */
  readonly message: string;
}

/** `holds` where `violated` is true of no element. */
export interface EachRule {
  readonly list: 'containers' | 'volumes';
  /** What `violated` calls an element. */
  readonly element: 'c' | 'v';
  /** CEL about the element. */
  readonly violated: string;
}

/** Which requests a policy sees. */
export interface Matched {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
}

/** A policy as data: what each engine's own objects are made of. */
export interface Policy {
  /** Behind the prefix. */
  readonly name: string;
  /** For whoever finds it in a cluster: what it is good for. */
  readonly about: string;
  readonly matched: readonly Matched[];
  /** Only in the namespaces of users; else `conditions` say where. */
  readonly ofUsers: boolean;
  /** All must be true, or the policy has no say. */
  readonly conditions: readonly Variable[];
  readonly variables: readonly Variable[];
  readonly rules: readonly Rule[];
  /** CEL, a string: said behind the message of a broken rule. */
  readonly advice?: string;
}

/**
 * A pod holds what the API server, its plugins and our own defaults have filled in: nothing may be
 * missing. A template that pods are made of later may leave out what will be filled in then, but may
 * not say anything else; where our defaults are not there it is held like a pod to what they fill in.
 */
export type Form = 'pod' | 'template';

/** What stands for an absent field: fails in a pod, passes in a template. */
export function absent(form: Form, fails: string, passes: string): string {
  return form === 'pod' ? fails : passes;
}

/** A CEL string literal. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** A CEL list of strings. */
export function listOf(texts: readonly string[]): string {
  return `[${texts.map(quoted).join(', ')}]`;
}

/** The end of a message: what the site allows. */
export function allowed(texts: readonly string[]): string {
  return quoted(
    ` must be one that this site allows: ${texts.length === 0 ? 'none' : texts.join(', ')}`,
  );
}

/**
 * A rule about each container of every kind. The message names those that break it.
 *
 * @param field Below the container.
 * @param violated CEL about `c`.
 * @param wanted CEL, a string: how the field must be.
 */
export function ofContainers(field: string, violated: string, wanted: string): Rule {
  return {
    holds: `!variables.containers.exists(c, ${violated})`,
    each: { list: 'containers', element: 'c', violated },
    message: `${quoted(`${field} of container `)} + variables.containers.filter(c, ${violated}).map(c, c.name).join(', ') + ${wanted}`,
  };
}

/** A rule about each volume: as `ofContainers`, with `v`. */
export function ofVolumes(field: string, violated: string, wanted: string): Rule {
  return {
    holds: `!variables.volumes.exists(v, ${violated})`,
    each: { list: 'volumes', element: 'v', violated },
    message: `${quoted(`${field} of volume `)} + variables.volumes.filter(v, ${violated}).map(v, v.name).join(', ') + ${wanted}`,
  };
}

/** A rule about a field of the pod. */
export function ofPod(field: string, holds: string, wanted: string): Rule {
  return { holds, message: `${quoted(`spec.${field}`)} + ${wanted}` };
}
