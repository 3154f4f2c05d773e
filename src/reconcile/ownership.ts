import { annotations, clusterRoles, namespaceLabel, roleBindingNames } from '../desired/names.ts';
import type { LiveObject } from '../desired/kube-object.ts';
import { BerthError, type ErrorCode } from '../errors.ts';

export type Ownership =
  | { readonly verdict: 'ours' }
  /** Made by OSC's hook for this user: it says no owner, its bindings do. */
  | { readonly verdict: 'adoptable' }
  | { readonly verdict: 'refused'; readonly error: BerthError };

/**
 * Whose namespace this is. The owner annotation decides. OSC's hook writes none: there the label,
 * its timestamp and its own binding of `ood-user` to this very user prove for whom it was made, and
 * any other user's binding proves the contrary.
 */
export function ownership(
  user: string,
  namespace: LiveObject,
  roleBindings: readonly LiveObject[],
): Ownership {
  const name = namespace.metadata.name;
  const owner = namespace.metadata.annotations?.[annotations.owner];
  if (owner === user) return { verdict: 'ours' };
  if (owner !== undefined)
    return refused(
      `namespace ${name} belongs to ${owner}, not to ${user}`,
      'namespace-owned-by-another-user',
      `Both names map to ${name}: give one of them another account name, or another namespace_prefix.`,
    );
  const madeByHook =
    namespace.metadata.labels?.[namespaceLabel.key] === namespaceLabel.value &&
    namespace.metadata.annotations?.[annotations.lastHookExecution] !== undefined;
  const users = boundUsers(roleBindings);
  if (madeByHook && users.length > 0 && users.every((bound) => bound === user))
    return { verdict: 'adoptable' };
  return refused(
    `namespace ${name} exists and nothing shows that it was made for ${user}`,
    'namespace-owner-unknown',
    `If it is theirs: kubectl annotate namespace ${name} ${annotations.owner}=${user}`,
  );
}

/** The users whose `USER-ood-user` binding stands in the namespace. */
function boundUsers(roleBindings: readonly LiveObject[]): string[] {
  const suffix = roleBindingNames.user('');
  return roleBindings
    .filter(({ metadata, roleRef }) => metadata.name.endsWith(suffix) && isUserRole(roleRef))
    .map(({ metadata }) => metadata.name.slice(0, -suffix.length));
}

function isUserRole(roleRef: unknown): boolean {
  return (roleRef as { name?: unknown } | undefined)?.name === clusterRoles.user;
}

function refused(message: string, code: ErrorCode, hint: string): Ownership {
  return { verdict: 'refused', error: new BerthError(message, { code, exit: 'permission', hint }) };
}
