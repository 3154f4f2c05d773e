import { type Time, type DocumentError } from './kit/document-parts.ts';
import { type SetupFile, type SetupCommand } from './init/setup-document.ts';
import type { PodSession } from '../sessions/backends/pod/pod-session.ts';
import type { CheckResult, CheckStatus } from '../check-result.ts';
import type { ReapedCluster } from '../clusters/reap/reap-cluster.ts';
import type { ListedCluster } from '../clusters/access/list-clusters.ts';
import type { ShownSetting } from '../config/load/shown-settings.ts';
import type { SubordinateEntry } from '../identity/subordinate-file.ts';
import type { ImageCheck } from '../setup/images/check-images.ts';
import type { GcResult } from '../setup/images/collect-garbage.ts';
import type { ListedImage } from '../setup/images/list-images.ts';
import type { PullOutcome, PullPlan } from '../setup/images/pull-images.ts';
import type { OscReport } from '../setup/init/osc-report.ts';
import type { LdapUsers } from '../directory/rules/ldap-users.ts';
import type { NamespaceChange } from '../clusters/ldap/rules/namespace-annotations.ts';
import type { SyncedCluster } from '../clusters/ldap/sync-cluster.ts';
import type { PlanSection } from '../portal/plan-pre-pun-hook.ts';
import type { ReapReport } from '../login/cleanup/reap-sessions.ts';
import type { DrainedUnit } from '../login/drain/drain-state.ts';
import type { ListenerUnit } from '../login/drain/listener-units.ts';
import type { SessionPlan } from '../login/open/plan-session.ts';
import type { Session, UserService } from '../login/sessions/list-sessions.ts';
import type { Certified } from '../setup/sshd-kinds/certify.ts';
import type { InspectedKind } from '../setup/sshd-kinds/inspect-kind.ts';
import type { KindUnit } from '../setup/sshd-kinds/kind.ts';
import type { NewKind } from '../setup/sshd-kinds/new-kind.ts';
import type { SshdLint } from '../setup/sshd-lint/lint-sshd.ts';
import type { SubidPlan } from '../setup/subid/plan-subids.ts';
import type { LogLine } from '../diagnose/trace/log-line.ts';
import type { HostStatus } from './status/host-status.ts';

interface TokenOfCluster {
  readonly cluster: string;
  /** In a dry run `would-rotate`. */
  readonly status: 'rotated' | 'would-rotate';
  /** The kubeconfig with the token. */
  readonly file: string;
  /** Its entry in the kubeconfig. */
  readonly user: string;
  /** `NAMESPACE/NAME` */
  readonly serviceAccount: string;
  /** When the former token expires. */
  readonly oldExpires?: Time;
  readonly expires: Time;
}

interface FailedToken extends DocumentError {
  readonly cluster: string;
  readonly status: 'failed';
}

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

interface DoctorReport {
  /** Whether no check failed. */
  readonly ok: boolean;
  readonly summary: Readonly<Record<CheckStatus, number>>;
  readonly checks: readonly (CheckResult & Partial<ImageCheck>)[];
}

/**
 * What commands print with `-o json`, by kind. Each has `apiVersion` and `kind` before these fields.
 * `npm run docs` makes `etc/schema/output` of it.
 */
export interface Documents {
  /** `berth clusters list` */
  readonly ClusterList: {
    readonly clusters: readonly ListedCluster[];
    /** Clusters whose configuration is invalid. */
    readonly broken: readonly (DocumentError & { readonly cluster: string })[];
  };
  /** `berth clusters reap` */
  readonly ClusterReap: {
    readonly dryRun: boolean;
    readonly clusters: readonly (Pick<ReapedCluster, 'cluster' | 'busy'> & {
      readonly pods: Omit<ReapedCluster['pods'], 'failed'>;
      readonly namespaces: Omit<ReapedCluster['namespaces'], 'failed'>;
      readonly failures: readonly DocumentError[];
    })[];
  };
  /** `berth doctor` and `berth images check` */
  readonly DoctorReport: DoctorReport;
  /** Why a command failed, on standard error. */
  readonly Error: DocumentError & { readonly exitStatus: number };
  /** `berth sshd certify` */
  readonly HostCertificates: Certified & {
    readonly dryRun: boolean;
    readonly next: readonly string[];
  };
  /** `berth status` */
  readonly HostStatus: HostStatus;
  /** `berth images gc` */
  readonly ImageGarbage: GcResult;
  /** `berth images list` */
  readonly ImageList: { readonly images: readonly ListedImage[] };
  /** `berth images pull` */
  readonly ImagePull: {
    readonly dryRun: boolean;
    /** In a dry run, what would be done with each. */
    readonly images: readonly (
      | Exclude<PullOutcome, { readonly error: unknown }>
      | { readonly image: string; readonly error: DocumentError }
      | PullPlan
    )[];
  };
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
  /** `berth node status` */
  readonly NodeStatus: {
    /** null if the node is in service. */
    readonly drained: {
      readonly since: Time;
      readonly by: string;
      readonly reason: string;
      readonly units: readonly DrainedUnit[];
      readonly deadline?: Time;
    } | null;
    readonly undrainIncomplete: boolean;
    readonly units: readonly ListenerUnit[];
    /** All open sessions, and those of them that a drain waits for. */
    readonly sessions: number;
    readonly waitedFor: number;
  };
  /** `berth reap` */
  readonly Reap: Omit<ReapReport, 'failed'> & {
    readonly dryRun: boolean;
    readonly failures: readonly DocumentError[];
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
  /** `berth config show` */
  readonly Settings: { readonly settings: readonly ShownSetting[] };
  /** `berth init` */
  readonly Setup: {
    readonly dryRun: boolean;
    /** In their order. Commands that have nothing to do are left out. */
    readonly steps: readonly (SetupFile | SetupCommand)[];
    /** Of `--from-osc`. */
    readonly osc?: OscReport;
    /** What doctor found afterwards. */
    readonly doctor?: DoctorReport;
    /** What the admin does then, and with `to undo` at their beginning the commands that undo each change. */
    readonly next: readonly string[];
  };
  /** `berth sshd new` */
  readonly SshdKind: Omit<NewKind, 'kind'> & {
    readonly dryRun: boolean;
    readonly settings: NewKind['kind'];
    readonly unit: KindUnit;
    readonly drained: boolean;
    readonly next: readonly string[];
  };
  /** `berth sshd list` and `check` */
  readonly SshdKindList: {
    /** Whether none has a problem. */
    readonly ok: boolean;
    readonly kinds: readonly InspectedKind[];
  };
  /** `berth subid plan` and `apply` */
  readonly SubidPlan: Pick<
    SubidPlan,
    | 'layout'
    | 'users'
    | 'complete'
    | 'directories'
    | 'problems'
    | 'warnings'
    | 'skipped'
    | 'notes'
    | 'suggestion'
  > & {
    /** Only of `apply`. */
    readonly done?: boolean;
    /** If there are problems. */
    readonly next?: string;
    readonly subuid: SubordinateFile;
    readonly subgid: SubordinateFile;
  };
  /** `berth token` */
  readonly TokenReport: {
    /** If true, a token was requested and tested, but not written. */
    readonly dryRun: boolean;
    readonly clusters: readonly (TokenOfCluster | FailedToken)[];
  };
  /** `berth trace` */
  readonly Trace: {
    readonly session: string;
    readonly lines: readonly (Omit<LogLine, 'time'> & { readonly time: Time })[];
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
