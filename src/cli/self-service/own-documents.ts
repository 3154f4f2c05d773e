import type { OwnSession } from '../../backends/own-session.ts';
import type { OwnQuota } from '../../backends/pod/own-quotas.ts';
import type { OwnCredential } from '../../credentials/own-credentials.ts';
import type { DocumentError, Time } from '../documents.ts';

/** What ends something that a user's sessions run in: the first of `after` and `at`. */
export interface OwnSessionEnd {
  readonly after: 'its-connection' | 'last-connection' | null;
  /** How long it stays after the last connection. */
  readonly graceSeconds: number | null;
  /** Whether that begins only when its processes have ended. */
  readonly waitsForProcesses: boolean;
  readonly at: Time | null;
}

/** A container, pod or job of the user. What is not known is null. */
export interface ListedOwnSession extends Pick<OwnSession, 'name' | 'backend' | 'state'> {
  /** A name that nothing else of the user has: `podman/berth-base`. */
  readonly fullName: string;
  readonly profile: string | null;
  /** Of a pod. */
  readonly cluster: string | null;
  /** Of Slurm. */
  readonly job: {
    readonly id: string;
    readonly node: string | null;
    /** Of its time limit. */
    readonly secondsLeft: number | null;
    /** Why it does not run yet. */
    readonly waits: string | null;
  } | null;
  readonly since: Time | null;
  /** How many connections use it. */
  readonly connections: number | null;
  readonly ends: OwnSessionEnd;
}

export interface OwnProfilesDocument {
  readonly profiles: readonly {
    readonly name: string;
    /** Whether a client gets it that asks for none. */
    readonly default: boolean;
    readonly backend: OwnSession['backend'];
    readonly image: string;
    readonly limits: {
      readonly cpus: number | null;
      readonly memoryBytes: number | null;
      readonly processes: number | null;
      /** The age at which a container, pod or job ends. */
      readonly timeSeconds: number | null;
    };
    /** What clients can choose with a variable. Without a maximum and values: what Slurm allows. */
    readonly choices: readonly {
      readonly variable: string;
      readonly max: string | null;
      readonly values: readonly string[] | null;
    }[];
  }[];
}

export interface OwnSessionsDocument {
  readonly sessions: readonly ListedOwnSession[];
  /** Why some could not be listed. */
  readonly failures: readonly DocumentError[];
}

export interface OwnSessionsEndedDocument {
  readonly ended: readonly Pick<ListedOwnSession, 'name' | 'fullName' | 'backend'>[];
  readonly failures: readonly DocumentError[];
}

export interface OwnStatusDocument {
  readonly jobs: readonly ListedOwnSession[];
  /** Quantities of Kubernetes. */
  readonly quotas: readonly OwnQuota[];
  /** For kubectl. */
  readonly credentials: readonly (Pick<OwnCredential, 'cluster' | 'renews'> & {
    readonly expires: Time;
  })[];
  /** Why a part is missing. */
  readonly failures: readonly DocumentError[];
}
