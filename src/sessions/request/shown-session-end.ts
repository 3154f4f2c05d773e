import type { Profile } from '../../config/schema/profile/profile.ts';

/** What ends a container, a pod or a job; the first of the two, if it has both. */
export interface SessionEnd {
  readonly after?: 'its-connection' | 'last-connection';
  /** How long it stays after the last connection. Milliseconds. */
  readonly graceMs?: number;
  /** Whether the grace period begins only when its processes have ended: `linger`. */
  readonly waitsForProcesses?: boolean;
  /** Milliseconds since the epoch. */
  readonly at?: number;
}

/**
 * What ends something that sessions of a profile run in.
 *
 * @param profile undefined if the configuration has no such profile now
 * @param connection set for what serves one connection
 * @param created undefined if its time limit is another's matter. Milliseconds since the epoch
 */
export function sessionEnd(
  profile: Pick<Profile, 'lifetime' | 'timeouts'> | undefined,
  connection: string | undefined,
  created: number | undefined,
): SessionEnd {
  const hardMs = profile?.timeouts.hardMs ?? Infinity;
  const isLimited = created !== undefined && hardMs < Infinity;
  const limit = isLimited ? { at: created + hardMs } : {};
  if (connection !== undefined) return { after: 'its-connection', ...limit };
  if (profile?.lifetime.kind !== 'user') return { after: 'last-connection', graceMs: 0, ...limit };
  const { graceMs, linger } = profile.lifetime;
  // A lifetime that is a time.
  if (graceMs >= hardMs) return limit;
  return { after: 'last-connection', graceMs, waitsForProcesses: linger, ...limit };
}
