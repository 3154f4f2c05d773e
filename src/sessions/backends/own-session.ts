import type { Backend as BackendName } from '../../config/schema/profile/profile.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import type { SessionEnd } from '../request/shown-session-end.ts';

/** A container, pod or job of the user who runs this process. */
export interface OwnSession {
  readonly name: string;
  /** Name of the profile, from its own name or label; undefined if that names none. */
  readonly profile: string | undefined;
  readonly backend: BackendName;
  /** The cluster of a pod. */
  readonly cluster?: string;
  readonly job?: OwnJob;
  /** In lower case, as the backend says it: `running`, `pending`, … */
  readonly state: string;
  /** When it was created or, for a job, started. Milliseconds since the epoch; undefined if it did not start. */
  readonly since: number | undefined;
  /** Connections with a process in it; undefined if that is not known on this host. */
  readonly connections: number | undefined;
  readonly ends: SessionEnd;
  /** Ends it, with all that runs in it. @throws {BerthError} */
  readonly end: () => Promise<void>;
}

/** What Slurm says of a job. */
export interface OwnJob {
  readonly id: string;
  /** The node of its first step; empty while it waits. */
  readonly node: string;
  /** What is left of its time limit; undefined without a limit. */
  readonly secondsLeft: number | undefined;
  /** Why it does not run yet, as a sentence. */
  readonly waits: string | undefined;
}

export interface OwnSessions {
  readonly sessions: readonly OwnSession[];
  /** Why some could not be listed. */
  readonly failed: readonly BerthError[];
}

/** The parts of a name `berth-PROFILE` or `berth-PROFILE-PID.STARTTIME`. @returns undefined if it is no such name */
export function sessionNameParts(
  name: string,
): { readonly profile: string; readonly connection: string | undefined } | undefined {
  const [, profile, connection] = /^berth-([a-z0-9-]+?)(?:-([0-9]+\.[0-9]+))?$/.exec(name) ?? [];
  return profile === undefined ? undefined : { profile, connection };
}
