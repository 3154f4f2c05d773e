/**
 * CEL: whether the requester may do this in kube-system, and so is a part of the cluster or an admin. A
 * user's rights end with their namespace, whatever they are there. Not for messages, which may not ask.
 *
 * @param resource CEL behind `authorizer`, up to the resource: `group('').resource('pods')`
 */
export function mayInSystem(resource: string, verb: string): string {
  return `authorizer.${resource}.namespace('kube-system').check('${verb}').allowed()`;
}

/** The same where the engine has no `authorizer`: the cluster's own names, not the namespace's accounts. */
export const componentByName = [
  "('system:masters' in request.userInfo.?groups.orValue([])",
  "request.userInfo.username.startsWith('system:kube-')",
  "request.userInfo.username.startsWith('system:node:')",
  "request.userInfo.username.startsWith('system:serviceaccount:') && !request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':'))",
].join(' || ');
