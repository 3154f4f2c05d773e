import { allowedInKubeSystem, componentByName } from './cluster-components.ts';
import type { Variable } from './policy-types.ts';

/** An update of an existing pod's metadata only, whose spec may be older than the policies. */
export const newSpec: Variable = {
  name: 'spec-is-new',
  expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
};

export const newAnnotations = 'object.metadata.?annotations != oldObject.metadata.?annotations';

/**
 * Only changes are checked: not the status, which the kubelet changes often, and not changes by components of
 * the cluster, such as a network plugin that writes addresses into annotations.
 */
export function changedByUser(what: string, changers: readonly string[]): Variable {
  const condition = (component: string): string =>
    `request.operation == 'CREATE' || (${what}) && !(${component})`;
  return {
    name: 'changed-by-a-user',
    expression: condition(
      changers.map((resource) => allowedInKubeSystem(resource, 'patch')).join(' || '),
    ),
    byName: condition(componentByName),
  };
}
