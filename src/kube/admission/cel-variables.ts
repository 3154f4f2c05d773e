import { annotations } from '../objects/well-known-names.ts';
import type { PodForm, Variable } from './policy-types.ts';

/** A UID or GID other than root's, in digits. */
const id = "'^[1-9][0-9]{0,9}$'";

/** The pod's spec, or that of a workload's template. */
export function specVariables(form: PodForm): Variable[] {
  if (form === 'pod') return [{ name: 'spec', expression: 'object.spec' }];
  return [
    {
      name: 'template',
      expression:
        'has(dyn(object).template) ? dyn(object).template : has(dyn(object).spec.jobTemplate) ? dyn(object).spec.jobTemplate.spec.template : dyn(object).spec.template',
    },
    { name: 'spec', expression: 'variables.template.spec' },
  ];
}

/** All containers, including init containers (sidecars) and ephemeral ones. */
export const containers: Variable = {
  name: 'containers',
  expression:
    'dyn(variables.spec.containers) + dyn(variables.spec.?initContainers.orValue([])) + dyn(variables.spec.?ephemeralContainers.orValue([]))',
};

export const volumes: Variable = {
  name: 'volumes',
  expression: 'variables.spec.?volumes.orValue([])',
};

/** The identity that the hook stamped on the namespace; -1 if it is missing. */
export const identity: readonly Variable[] = [
  {
    name: 'stamped',
    expression: 'namespaceObject.metadata.?annotations.orValue({})',
  },
  { name: 'uid', expression: number(annotations.uid) },
  { name: 'gid', expression: number(annotations.gid) },
  {
    name: 'groups',
    expression: `[variables.gid] + variables.stamped[?'${annotations.groups}'].orValue('').split(',').filter(g, g.matches(${id})).map(g, int(g)).filter(g, g != variables.gid)`,
  },
];

function number(annotation: string): string {
  const text = `variables.stamped[?'${annotation}'].orValue('')`;
  return `${text}.matches(${id}) ? int(${text}) : -1`;
}

/** The owner's name; an empty one matches no home. */
export const owner: Variable = {
  name: 'owner',
  expression: `namespaceObject.metadata.?annotations[?'${annotations.owner}'].orValue('')`,
};
