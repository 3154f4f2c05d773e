import { annotations } from '../desired/names.ts';
import type { Form, Variable } from './policy.ts';

/** Digits of a UID or GID that is not root's. */
const id = "'^[1-9][0-9]{0,9}$'";

/** The pod's spec, wherever a workload keeps it. */
export function specVariables(form: Form): Variable[] {
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

/** Every container there is: sidecars are init containers. */
export const containers: Variable = {
  name: 'containers',
  expression:
    'dyn(variables.spec.containers) + dyn(variables.spec.?initContainers.orValue([])) + dyn(variables.spec.?ephemeralContainers.orValue([]))',
};

export const volumes: Variable = {
  name: 'volumes',
  expression: 'variables.spec.?volumes.orValue([])',
};

/** What the hook stamped on the namespace; -1 where it did not. */
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

/** Where the owner is known; an empty name matches nobody's home. */
export const owner: Variable = {
  name: 'owner',
  expression: `namespaceObject.metadata.?annotations[?'${annotations.owner}'].orValue('')`,
};
