/**
 * CEL: whether the requester may do this in kube-system, and so is a component of the cluster or an admin: a
 * user has rights in their own namespace only. Not for messages, which cannot use `authorizer`.
 *
 * @param resource CEL behind `authorizer`, up to the resource: `group('').resource('pods')`
 */
export function allowedInKubeSystem(resource: string, verb: string): string {
  return `authorizer.${resource}.namespace('kube-system').check('${verb}').allowed()`;
}

/** The same by user names, for an engine without `authorizer`; ServiceAccounts of the namespace do not match. */
export const componentByName = [
  "('system:masters' in request.userInfo.?groups.orValue([])",
  "request.userInfo.username.startsWith('system:kube-')",
  "request.userInfo.username.startsWith('system:node:')",
  "request.userInfo.username.startsWith('system:serviceaccount:') && !request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':'))",
].join(' || ');
