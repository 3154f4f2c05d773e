import type { SshSettings } from '../../config/profile/profile.ts';
import type { Logger } from '../../log.ts';

/** Where sessions are kept account of, and by which rules they end. */
export interface SessionSite {
  readonly settings: Pick<SshSettings, 'storage' | 'podman' | 'profiles' | 'rules'>;
  /** `/run/berth` */
  readonly run: string;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The open connections of all users, `UID/PID.STARTTIME`. */
export function connectionsFolder({ run }: Pick<SessionSite, 'run'>): string {
  return `${run}/connections`;
}

/** One user's. */
export function connectionsOf(site: Pick<SessionSite, 'run'>, uid: number): string {
  return `${connectionsFolder(site)}/${uid}`;
}

export function connectionFile(site: Pick<SessionSite, 'run'>, uid: number, id: string): string {
  return `${connectionsOf(site, uid)}/${id}`;
}

/** Since when the user has no connection: `idle/UID`, milliseconds since the epoch. */
export function idleFile({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/idle/${uid}`;
}

/** When the last end of what all of a user's connections share began that left nothing undone. */
export function endedFile(
  { run }: Pick<SessionSite, 'run'>,
  uid: number,
  part: 'containers' | 'pods',
): string {
  return `${run}/ended/${uid}.${part}`;
}

/** Held while what all connections of a user share is taken away: `ending/UID`. */
export function endingLock({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/ending/${uid}`;
}

/** Held while the user's run folder is mounted or unmounted. */
export function mountLock({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/ending/${uid}.mount`;
}

/** Held by whoever stops processes of the user for a moment. */
export function freezeLock({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/ending/${uid}.freeze`;
}
