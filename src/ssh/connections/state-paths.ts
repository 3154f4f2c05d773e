import type { SshSettings } from '../../config/profile/profile.ts';
import type { Logger } from '../../log.ts';

/** Where the state of sessions is kept, and the settings that say when they end. */
export interface SessionSite {
  readonly settings: Pick<SshSettings, 'storage' | 'podman' | 'profiles' | 'rules'>;
  /** `/run/berth` */
  readonly run: string;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Directory of the open connections of all users: `UID/PID.STARTTIME`. */
export function connectionsFolder({ run }: Pick<SessionSite, 'run'>): string {
  return `${run}/connections`;
}

/** Directory of one user's connections. */
export function connectionsOf(site: Pick<SessionSite, 'run'>, uid: number): string {
  return `${connectionsFolder(site)}/${uid}`;
}

export function connectionFile(site: Pick<SessionSite, 'run'>, uid: number, id: string): string {
  return `${connectionsOf(site, uid)}/${id}`;
}

/** Records since when the user has no connection: `idle/UID`, milliseconds since the epoch. */
export function idleFile({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/idle/${uid}`;
}

/** Records when the last complete cleanup of what a user's connections share began. */
export function endedFile(
  { run }: Pick<SessionSite, 'run'>,
  uid: number,
  part: 'containers' | 'pods',
): string {
  return `${run}/ended/${uid}.${part}`;
}

/** Lock for removing what the user's connections share: `ending/UID`. */
export function endingLock({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/ending/${uid}`;
}

/** Lock for mounting and unmounting the user's runtime directory. */
export function mountLock({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/ending/${uid}.mount`;
}

/** Lock for freezing processes of the user. */
export function freezeLock({ run }: Pick<SessionSite, 'run'>, uid: number): string {
  return `${run}/ending/${uid}.freeze`;
}
