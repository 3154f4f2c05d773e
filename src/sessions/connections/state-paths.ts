import type { SshSettings } from '../../config/schema/profile/profile.ts';
import type { Logger } from '../../log.ts';
import type { EventSpool } from '../../system/event-spool.ts';
import type { ProcessLooks } from '../../system/process-looks.ts';

/** Where the state of sessions is kept, and the settings that say when they end. */
export interface SessionContext {
  readonly settings: Pick<SshSettings, 'storage' | 'podman' | 'profiles' | 'rules'>;
  /** `/run/berth` */
  readonly run: string;
  readonly log: Logger;
  /** Where root's programs note what is counted. */
  readonly spool?: EventSpool;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** What runs on this host, if one process looks after many users. */
  readonly looks?: ProcessLooks;
  /** ID of the session that is opened or closed. */
  readonly session?: string;
  /** Containers of users without a connection end now, not after their grace or duration. */
  readonly endsUnused?: boolean;
  /** Expired containers are not looked for: there are none, or a later step does so. */
  readonly skipsExpired?: boolean;
  /** Containers end at their time limit with connected users, who have been told. */
  readonly endsConnected?: boolean;
}

/** Directory of the open connections of all users: `UID/PID.STARTTIME`. */
export function connectionsDir({ run }: Pick<SessionContext, 'run'>): string {
  return `${run}/connections`;
}

/** Directory of one user's connections. */
export function userConnectionsDir(site: Pick<SessionContext, 'run'>, uid: number): string {
  return `${connectionsDir(site)}/${uid}`;
}

export function connectionRecordPath(
  site: Pick<SessionContext, 'run'>,
  uid: number,
  id: string,
): string {
  return `${userConnectionsDir(site, uid)}/${id}`;
}

/** Notes of the cgroups of one user's connections: a file with the cgroup's path for each ID. */
export function cgroupNotesDir({ run }: Pick<SessionContext, 'run'>, uid: number): string {
  return `${run}/cgroups/${uid}`;
}

/** Records since when the user has no connection: `idle/UID`, milliseconds since the epoch. */
export function idleSinceFile({ run }: Pick<SessionContext, 'run'>, uid: number): string {
  return `${run}/idle/${uid}`;
}

/** What the last look at the limits of the user's sessions found: `limits/UID`. */
export function limitsFile({ run }: Pick<SessionContext, 'run'>, uid: number): string {
  return `${run}/limits/${uid}`;
}

/** Records when the last complete cleanup of what a user's connections share began. */
export function lastCleanupFile(
  { run }: Pick<SessionContext, 'run'>,
  uid: number,
  part: 'containers' | 'pods',
): string {
  return `${run}/ended/${uid}.${part}`;
}

/** Lock for removing what the user's connections share: `ending/UID`. */
export function cleanupLockPath({ run }: Pick<SessionContext, 'run'>, uid: number): string {
  return `${run}/ending/${uid}`;
}

/** Lock for mounting and unmounting the user's runtime directory. */
export function mountLockPath({ run }: Pick<SessionContext, 'run'>, uid: number): string {
  return `${run}/ending/${uid}.mount`;
}

/** Lock for what root hands over to the user's logins. */
export function handoverLockPath({ run }: Pick<SessionContext, 'run'>, uid: number): string {
  return `${run}/ending/${uid}.handover`;
}

/** Lock for freezing processes of the user. */
export function freezeLockPath({ run }: Pick<SessionContext, 'run'>, uid: number): string {
  return `${run}/ending/${uid}.freeze`;
}

/** Notes which process of root's for the user has survived SIGKILL (`noteHung`). */
export function hungNotePath(
  { run }: Pick<SessionContext, 'run'>,
  uid: number,
  work: 'reap' | 'podman' | 'rm' | 'profiles',
): string {
  return `${run}/hung/${work}-${uid}`;
}
