import type { Variable } from './policy-types.ts';

/**
 * CEL: whether the requester may do this in kube-system, and so is a component of the cluster or an admin: a
 * user has rights in their own namespace only. Not for messages, which cannot use `authorizer`.
 *
 * @param resource CEL behind `authorizer`, up to the resource: `group('').resource('pods')`
 */
export function allowedInKubeSystem(resource: string, verb: string): string {
  return `authorizer.${resource}.namespace('kube-system').check('${verb}').allowed()`;
}

/** An admin, for an engine without `authorizer`. */
export const adminByName = "('system:masters' in request.userInfo.?groups.orValue([]))";

/** The same by user names, for an engine without `authorizer`; ServiceAccounts of the namespace do not match. */
export const componentByName = [
  `(${adminByName}`,
  "request.userInfo.username.startsWith('system:kube-')",
  "request.userInfo.username.startsWith('system:node:')",
  "request.userInfo.username.startsWith('system:serviceaccount:') && !request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':'))",
].join(' || ');

function allowedThere(verb: string): string {
  const requested =
    "authorizer.group(request.resource.group).resource(request.resource.resource).subresource(request.?subResource.orValue(''))";
  return `${requested}.namespace('kube-system').name(request.?name.orValue('')).check('${verb}').allowed()`;
}

/**
 * `component`: whether the requester may write the same in kube-system. The API server allows an expression two checks.
 * The namespace controller may only delete, and the node authorizer limits kubelets to tokens of their own pods.
 */
export const componentVariables: readonly Variable[] = [
  {
    name: 'removes',
    expression: `${allowedThere('patch')} || ${allowedThere('delete')}`,
    byName: 'false',
  },
  {
    name: 'component',
    expression: `request.userInfo.username.startsWith('system:node:') || ${allowedThere('create')} || ${allowedThere('update')} || variables.removes`,
    byName: componentByName,
  },
];

/** An update of an existing pod's metadata only, whose spec may be older than the policies. */
export const newSpec: Variable = {
  name: 'spec-is-new',
  expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
};

export const newAnnotations = 'object.metadata.?annotations != oldObject.metadata.?annotations';

/**
 * Only changes are checked: not the status, which the kubelet changes often, and not changes by components of
 * the cluster, such as a network plugin that writes addresses into annotations.
 *
 * @param always CEL: changes that are checked whoever makes them
 */
export function changedByUser(
  what: string,
  changers: readonly string[],
  always?: string,
): Variable {
  const condition = (component: string): string =>
    `request.operation == 'CREATE' || ${always === undefined ? '' : `${always} || `}(${what}) && !(${component})`;
  return {
    name: 'changed-by-a-user',
    expression: condition(
      changers.map((resource) => allowedInKubeSystem(resource, 'patch')).join(' || '),
    ),
    byName: condition(componentByName),
  };
}
