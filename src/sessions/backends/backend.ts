import type { CheckResult } from '../../system/errors/check-result.ts';
import type {
  Backend as BackendName,
  Profile,
  SshSettings,
} from '../../config/schema/profile/profile.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import type { Logger } from '../../log.ts';
import type { ProgramCall } from '../../system/program/program-call.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import type { SessionHost } from '../request/session-host.ts';
import type { SessionRequest } from '../request/session-request.ts';
import type { SessionContext } from '../connections/state-paths.ts';
import type { ResolvedMount } from './podman/argv/podman-run.ts';
import type { UserState } from './podman/user-processes.ts';
import type { PodObject } from './pod/objects/pod-object.ts';

/**
 * What sessions run in: the one interface through which the rest of Berth knows containers and pods. With it belong
 * `openInBackend`, `planInBackend` and `ownSessionsIn`, apart because programs that do not call them start faster without.
 */
export interface Backend {
  readonly name: BackendName;
  /** What a session runs in, for texts: `container`, `pod` or `job`. */
  readonly noun: string;
  /** Whether it runs on the login node: with the node's images and network. */
  readonly runsHere: boolean;
  /** Whether sessions of this host may use it, or may have used it. */
  isUsed(settings: Pick<SshSettings, 'profiles' | 'rules'>): boolean;
  /**
   * Makes ready what the user's sessions need elsewhere, when a connection is opened, as root. sshd waits.
   *
   * @returns the errors; the login then tells the user why
   */
  prepareLogin?(site: SessionContext, user: User): Promise<readonly BerthError[]>;
  /**
   * The name of what a connection's sessions run in.
   *
   * @param claimed the container that the connection's processes say they are in
   */
  sessionNames(
    profile: Profile,
    connection: string,
    claimed: string | undefined,
  ): Promise<SessionNames>;
  /**
   * What removes the user's expired containers or pods. Each step is run, also if one before it failed.
   *
   * @param connection the one that is about to be closed, and is still open now; undefined for the reaper
   */
  cleanUp(site: SessionContext, user: User, connection?: string): Promise<readonly CleanupStep[]>;
}

/** A session of a user whose profile has been chosen. */
export interface SessionToOpen {
  readonly host: SessionHost;
  readonly profile: Profile;
  readonly request: SessionRequest;
  /** The environment that sshd set. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Directory of the bundled file-transfer programs on the host. */
  readonly toolsDir: string;
}

export interface LoginSession extends SessionToOpen {
  readonly log: Logger;
  /** Called when the session is about to start: shows the message of the day. */
  readonly onBeforeStart: () => void;
  /** Called when the user's shell or command is started. */
  readonly onStarted: () => void;
}

/** The program that replaces the login, or the exit code of a session that the login served itself. */
export type OpenedSession = ProgramCall | { readonly exitCode: number };

export interface PlanInput {
  readonly settings: SshSettings;
  readonly overlay?: ResolveConfigPath | undefined;
  /** Runs the checks of `berth doctor` for a container of these profiles and this user. */
  readonly check: (settings: SshSettings, user: User) => Promise<CheckResult[]>;
}

export interface BackendPlan {
  /** Failed checks of `berth doctor` that would make a login fail now. */
  readonly obstacles: readonly CheckResult[];
  /** Set for a session in a container of this host. */
  readonly session?: PlannedSession;
  /** Set for a session in a pod. */
  readonly pod?: PlannedPod;
  /** Set for a session in a job of Slurm. */
  readonly job?: PlannedJob;
}

export interface PlannedSession {
  readonly profile: string;
  readonly container: {
    readonly name: string;
    readonly runs: boolean;
    /** Starts the container if it is not running. */
    readonly start: ProgramCall;
  };
  readonly mounts: readonly ResolvedMount[];
  /** Missing sources of mounts that have `missing: skip`. */
  readonly skipped: readonly string[];
  /** What replaces the login; `CONTAINER`, `FILE` and PID 0 stand for values known only after a start. */
  readonly becomes: ProgramCall;
  /** The session's environment; without the image's variables if the container is not running. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What a login would create and run on a cluster. */
export interface PlannedPod {
  readonly profile: string;
  readonly cluster: string;
  /** The pod that is created if no pod with its name runs. */
  readonly pod: PodObject;
  /** The argv of the session, which the exec receives on standard input. */
  readonly exec: readonly string[];
}

/** What a login would submit to Slurm. */
export interface PlannedJob {
  readonly profile: string;
  readonly name: string;
  /** The job script. It is submitted if no job of an earlier login for this profile is open. */
  readonly script: string;
}

export interface SessionNames {
  /** undefined if it is not certain that there is one. */
  readonly name: string | undefined;
  readonly claimedName: string | undefined;
}

export type CleanupStep = (state: UserState) => Promise<RemovalResult>;

export interface RemovalResult {
  readonly removed: number;
  readonly failed: readonly BerthError[];
}
