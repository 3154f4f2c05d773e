import { celString, type Rule, type Variable } from './policy-types.ts';

/** Prefix of the hook's annotations about a user. */
const stamps = 'openondemand.org/';

/**
 * The right to write these annotations: the RBAC verb `stamp` on the resource `identities` of
 * openondemand.org, cluster-wide, which exists only for this check. Cluster admins have every verb; the manifests grant it to the hook.
 */
export const stampRight = {
  group: 'openondemand.org',
  resource: 'identities',
  verb: 'stamp',
} as const;

export function namespaceVariables(
  label: { readonly key: string; readonly value: string },
  stampers: readonly string[],
): Variable[] {
  const labelOf = (object: string): string =>
    `${object}.metadata.?labels[?'${label.key}'].orValue('')`;
  return [
    {
      name: 'before',
      expression:
        "request.operation == 'UPDATE' ? oldObject.metadata.?annotations.orValue({}) : {}",
    },
    { name: 'after', expression: 'object.metadata.?annotations.orValue({})' },
    {
      name: 'labelBefore',
      expression: `request.operation == 'UPDATE' ? ${labelOf('oldObject')} : ''`,
    },
    { name: 'labelAfter', expression: labelOf('object') },
    {
      name: 'changed',
      expression: [
        `(variables.before.map(k, k) + variables.after.filter(k, !(k in variables.before)))`,
        `.filter(k, k.startsWith('${stamps}') && variables.before[?k] != variables.after[?k])`,
        ` + (variables.labelBefore != variables.labelAfter && '${label.value}' in [variables.labelBefore, variables.labelAfter] ? ['label ${label.key}'] : [])`,
      ].join(''),
    },
    mayStamp(stampers),
  ];
}

/** Whether the requester is the login hook, or an admin. */
export function mayStamp(stampers: readonly string[]): Variable {
  const { group, resource, verb } = stampRight;
  const names = stampers.map((account) => celString(`system:serviceaccount:${account}`)).join(', ');
  return {
    name: 'mayStamp',
    expression: `authorizer.group('${group}').resource('${resource}').check('${verb}').allowed()`,
    byName: `request.userInfo.username in [${names}] || 'system:masters' in request.userInfo.?groups.orValue([])`,
  };
}

/** The right to edit a namespace does not include changing its identity. */
export function namespaceRules(): Rule[] {
  return [
    {
      holds: 'size(variables.changed) == 0 || variables.mayStamp',
      message: `'metadata.annotations ' + variables.changed.join(', ') + ' may only be changed by the login hook'`,
    },
  ];
}
