import {
  annotations,
  clusterRoles,
  namespaceLabel,
  roleBindingNames,
} from './objects/well-known-names.ts';
import type { LiveObject } from './objects/kube-object.ts';
import { BerthError, type ErrorCode } from '../system/errors/berth-error.ts';

export type Ownership =
  | { readonly verdict: 'ours' }
  /** Made by OSC's hook for this user: without an owner annotation, but with the user's binding. */
  | { readonly verdict: 'adoptable' }
  | { readonly verdict: 'refused'; readonly error: BerthError };

/**
 * Decides whose namespace this is. The owner annotation decides. OSC's hook writes none: there the label, the
 * timestamp and the binding of `ood-user` to this user show for whom it was made, unless another user
 * is bound too.
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
      `Both account names map to ${name}: change one of them. If ${owner} was renamed to ${user}: \`kubectl annotate --overwrite namespace ${name} ${annotations.owner}=${user}\`.`,
    );
  const madeByHook =
    namespace.metadata.labels?.[namespaceLabel.key] === namespaceLabel.value &&
    namespace.metadata.annotations?.[annotations.lastHookExecution] !== undefined;
  const users = boundUsers(roleBindings);
  if (madeByHook && users.length > 0 && users.every((bound) => bound === user))
    return { verdict: 'adoptable' };
  return refused(
    `namespace ${name} exists, but has no annotation or binding that shows that it was created for ${user}`,
    'namespace-owner-unknown',
    `If it belongs to this user: kubectl annotate namespace ${name} ${annotations.owner}=${user}`,
  );
}

/** The users with a `USER-ood-user` binding in the namespace. */
function boundUsers(roleBindings: readonly LiveObject[]): string[] {
  const suffix = roleBindingNames.user('');
  return roleBindings
    .filter(
      ({ metadata, roleRef }) =>
        metadata.name.endsWith(suffix) &&
        (roleRef as { name?: unknown } | undefined)?.name === clusterRoles.user,
    )
    .map(({ metadata }) => metadata.name.slice(0, -suffix.length));
}

function refused(message: string, code: ErrorCode, hint: string): Ownership {
  return { verdict: 'refused', error: new BerthError(code, message, { hint }) };
}
