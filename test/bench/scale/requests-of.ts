import type { AuditEvent } from '../../rig/site/kubernetes/audit.ts';

/** How many requests an account of the namespace `ondemand` has sent, by `VERB RESOURCE`. */
export function requestsOf(
  events: readonly AuditEvent[],
  account: string,
): ReadonlyMap<string, number> {
  const username = `system:serviceaccount:ondemand:${account}`;
  const counts = new Map<string, number>();
  for (const { user, verb, objectRef } of events) {
    if (user.username !== username) continue;
    const key = `${verb} ${objectRef?.resource ?? ''}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
