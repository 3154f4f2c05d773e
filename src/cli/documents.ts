import { type Time, type DocumentError } from './kit/document-parts.ts';
import type { PodSession } from '../sessions/backends/pod/pod-session.ts';
import type { CheckResult, CheckStatus } from '../system/errors/check-result.ts';
import type { SubordinateEntry } from '../system/identity/subordinate-file.ts';
import type { ImageCheck } from '../setup/images/check-images.ts';
import type { LdapUsers } from '../directory/rules/ldap-users.ts';
import type { NamespaceChange } from '../clusters/ldap/rules/namespace-annotations.ts';
import type { SyncedCluster } from '../clusters/ldap/sync-cluster.ts';
import type { PlanSection } from '../portal/plan-pre-pun-hook.ts';
import type { SessionPlan } from '../login/open/plan-session.ts';
import type { Session, UserService } from '../login/sessions/list-sessions.ts';
import type { SshdLint } from '../setup/sshd-lint/lint-sshd.ts';
import type { SubidPlan } from '../setup/subid/plan-subids.ts';
import type { HostStatus } from './status/host-status.ts';

interface LdapSyncOfCluster extends Omit<SyncedCluster, 'changes' | 'held' | 'error' | 'failed'> {
  readonly cluster: string;
  readonly changes: readonly (Omit<NamespaceChange, 'wanted'> & {
    /** Annotations; null is one that is removed. */
    readonly after: Readonly<Record<string, string | null>>;
  })[];
  /** Namespaces that are not marked as removed, because their user may be somebody in the directory. */
  readonly held: readonly string[];
  /** Why each of them is held. */
  readonly holdReasons: Readonly<Record<string, string>>;
  /** What the API server refused for single namespaces and ConfigMaps. */
  readonly failures: readonly DocumentError[];
  readonly error?: DocumentError;
}

interface LdapSyncFailure {
  readonly cluster: string;
  readonly error: DocumentError;
}

/** A session of this node. What is not known is null. Sizes are in bytes. */
interface ListedSession extends Pick<
  Session,
  'id' | 'user' | 'uid' | 'profiles' | 'terminals' | 'processes' | 'cpuSeconds' | 'memoryBytes'
> {
  /** The name of this host. */
  readonly node: string;
  /** Of its newest session; `profiles` has those of all. */
  readonly profile: string | null;
  readonly backend: Exclude<Session['backend'], undefined> | null;
  /** Of the container or the pod. */
  readonly name: string | null;
  readonly claimedName: string | null;
  readonly since: Time;
  readonly idleSeconds: number | null;
  /** The client's address. */
  readonly from: string | null;
  readonly via: Exclude<Session['via'], undefined> | null;
  readonly peer: Exclude<Session['peer'], undefined> | null;
  readonly local: Exclude<Session['local'], undefined> | null;
  /** The systemd unit of sshd. */
  readonly sshd: string | null;
}

/** The pod of a session on any node. What is not known is null. */
export interface ListedPod extends Pick<
  PodSession,
  'cluster' | 'namespace' | 'name' | 'status' | 'loginNodes'
> {
  readonly user: string | null;
  readonly profileLabel: string | null;
  readonly since: Time | null;
  /** The cluster's node. */
  readonly node: string | null;
  readonly cpuCores: number | null;
  readonly memoryBytes: number | null;
}

interface SubordinateFile {
  readonly file: string;
  readonly add: readonly SubordinateEntry[];
}

/**
 * What commands print with `-o json`, by kind. Each has `apiVersion` and `kind` before these fields.
 * `npm run docs` makes `etc/schema/output` of it.
 */
export interface Documents {
  /** `berth doctor` and `berth images check` */
  readonly DoctorReport: {
    /** Whether no check failed. */
    readonly ok: boolean;
    readonly summary: Readonly<Record<CheckStatus, number>>;
    readonly checks: readonly (CheckResult & Partial<ImageCheck>)[];
  };
  /** Why a command failed, on standard error. */
  readonly Error: DocumentError & { readonly exitStatus: number };
  /** `berth status` */
  readonly HostStatus: HostStatus;
  /** `berth ldap-sync` */
  readonly LdapSync: {
    readonly dryRun: boolean;
    /** URL of the server that answered. */
    readonly server: string;
    /** How many were read. */
    readonly users: number;
    /** Number of valid groups. */
    readonly groups: number;
    readonly refused: LdapUsers['refused'];
    readonly clusters: readonly (LdapSyncOfCluster | LdapSyncFailure)[];
  };
  /** `berth sshd lint` */
  readonly LintReport: SshdLint & {
    readonly ok: boolean;
    /** Of all findings, each once. */
    readonly codes: readonly string[];
    readonly next: readonly string[];
  };
  /** `berth plan` */
  readonly LoginPlan: {
    readonly sections: readonly (Omit<PlanSection, 'error'> & {
      readonly error?: DocumentError & {
        /** The same as `next`. */
        readonly hint: string;
      };
    })[];
  };
  /** `berth sessions list` and `show` */
  readonly SessionList: {
    readonly node: string;
    readonly sessions: readonly ListedSession[];
    /** Only if the clusters were asked. */
    readonly pods?: readonly ListedPod[];
    /** Of `list`: what systemd's managers of users run on this host, outside of sessions. */
    readonly services?: readonly UserService[];
  };
  /** `berth plan --ssh` */
  readonly SessionPlan: SessionPlan;
  /** `berth subid plan` and `apply` */
  readonly SubidPlan: Pick<
    SubidPlan,
    'layout' | 'users' | 'complete' | 'directories' | 'problems' | 'warnings' | 'skipped' | 'notes'
  > & {
    /** Only of `apply`. */
    readonly done?: boolean;
    /** If there are problems. */
    readonly next?: string;
    readonly subuid: SubordinateFile;
    readonly subgid: SubordinateFile;
  };
  /** `berth version` */
  readonly Version: {
    readonly version: string;
    /** The same for the same sources. */
    readonly build: string;
    /** Of the sources; absent if they were in no Git repository. */
    readonly commit?: string;
    /** Version of Node. */
    readonly node: string;
    readonly architecture: string;
  };
}
