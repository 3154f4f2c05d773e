import type { Lifetime } from '../../config/schema/profile/profile.ts';

/** Whether processes of a session stay when its connection ends: `linger` of the profile. */
export function keepsProcesses(lifetime: Lifetime): boolean {
  return lifetime.kind !== 'connection' && lifetime.linger;
}
