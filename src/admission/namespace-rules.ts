import { quoted, type Rule, type Variable } from './policy.ts';

/** All that the hook says about a user stands behind this. */
const stamps = 'openondemand.org/';

/**
 * Who may stamp: whom RBAC gives a verb that exists for this alone, `stamp` on `identities` of
 * openondemand.org, in the whole cluster. Cluster admins have every verb, and the hook is given it.
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
  const { group, resource, verb } = stampRight;
  const names = stampers.map((account) => quoted(`system:serviceaccount:${account}`)).join(', ');
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
    {
      name: 'mayStamp',
      expression: `authorizer.group('${group}').resource('${resource}').check('${verb}').allowed()`,
      byName: `request.userInfo.username in [${names}] || 'system:masters' in request.userInfo.?groups.orValue([])`,
    },
  ];
}

/** Whoever may edit a namespace does not thereby become somebody else in it. */
export function namespaceRules(): Rule[] {
  return [
    {
      holds: 'size(variables.changed) == 0 || variables.mayStamp',
      message: `'metadata.annotations ' + variables.changed.join(', ') + ' must stay as the login hook made them'`,
    },
  ];
}
