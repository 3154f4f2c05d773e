import type { BerthError } from '../../../system/errors/berth-error.ts';
import type { LogFormat } from '../../../log.ts';
import type { BatchFields } from './batch-fields.ts';
import type { PodFields } from './pod-fields.ts';

/**
 * The settings of a session. Checked and frozen (`parseProfile`). Templates may contain `$USER`, `$UID`, `$GID` and
 * `$HOME`, which are replaced when a session is planned for a user.
 */
export interface Profile {
  readonly name: string;
  /** What runs the session; a rule may set another one. */
  readonly backend: Backend;
  /** `NAME[:TAG][@sha256:…]`. */
  readonly image: string;
  readonly pull: 'never' | 'missing' | 'always';
  readonly lifetime: Lifetime;
  readonly timeouts: Timeouts;
  readonly mounts: readonly ProfileMount[];
  /** `host`, `none`, `private` (slirp4netns or pasta), or the name of a podman network. */
  readonly network: string;
  /** Template; absent: the host's own name. */
  readonly hostname?: string;
  readonly environment: ProfileEnvironment;
  /** Absolute path inside; absent: the user's shell from passwd, or /bin/sh if the image does not have that. */
  readonly shell?: string;
  readonly limits: ProfileLimits;
  /** Whether X11 forwarding and agent forwarding lead into the session. */
  readonly x11: boolean;
  readonly agent: boolean;
  /** Whether admins' messages, such as before a drain, are written to the terminals of sessions. */
  readonly notices: boolean;
  /** Whether the login answers the commands of `SshSettings.selfService` to the profile's users. */
  readonly selfService: boolean;
  readonly slurm?: ProfileSlurm;
  /** Unix groups of which the user must be in one; absent: everybody. */
  readonly groups?: readonly string[];
  readonly failure: FailurePolicy;
  /** How long the start of a container may take. Milliseconds. */
  readonly deadlineMs: number;
  /** Settings for Podman only; a pod ignores them, and the linter reports them. */
  readonly podman: PodmanFields;
  /** Settings for pods only. */
  readonly pod: PodFields;
  /** For job scripts (`berth render sbatch`) and apps that run in jobs. */
  readonly batch: BatchFields;
}

/** A Podman container on this host, a pod on a cluster, or a Podman container in a job of Slurm. */
export const backends = ['podman', 'pod', 'slurm'] as const;
export type Backend = (typeof backends)[number];

export type Lifetime =
  /** A container per connection, which ends with it. */
  | { readonly kind: 'connection' }
  /** One container for all of the user's connections. */
  | {
      readonly kind: 'user';
      /** How long it stays after the last connection. Milliseconds. */
      readonly graceMs: number;
      /** Whether processes that ignore SIGHUP (nohup, tmux) outlive their connection. */
      readonly linger: boolean;
    };

/** When sessions end although their user is connected. A `lifetime` that is a time is `user` with `hardMs`. */
export interface Timeouts {
  /** Without input and output on any connection. Milliseconds. */
  readonly idleMs?: number;
  /** From this age on, it ends with the last connection, without a grace. Milliseconds. */
  readonly softMs?: number;
  /** It ends at this age. Milliseconds. */
  readonly hardMs?: number;
  /** How long before its end its terminals are told, if the profile says it. Milliseconds. */
  readonly warnMs?: readonly number[];
}

export interface ProfileMount {
  /** Absolute path on the host, a template. */
  readonly source: string;
  /** Absolute path inside, a template; absent: the same as the source. */
  readonly target?: string;
  readonly readOnly: boolean;
  /** What to do if the source does not exist. */
  readonly missing: 'fail' | 'skip';
}

export interface ProfileEnvironment {
  /** Names, or prefixes ending in `*`, of variables that clients may set, in addition to TERM, LANG and LC_*. */
  readonly pass: readonly string[];
  /** Values are templates. */
  readonly set: Readonly<Record<string, string>>;
}

export interface ProfileLimits {
  readonly cpus?: number;
  /** Bytes. */
  readonly memory?: number;
  readonly pids?: number;
}

export interface ProfileSlurm {
  /** Directory of slurm.conf on the host. */
  readonly config: string;
  /** Directory of munge's socket on the host. */
  readonly munge: string;
}

export interface FailurePolicy {
  readonly action: 'refuse' | 'fallback' | 'host-shell';
  /** For `fallback`: the image to start instead. */
  readonly image?: string;
  /** For `host-shell`: members of these groups get a shell on the host; others are refused. */
  readonly groups: readonly string[];
}

export interface PodmanFields {
  /** Device paths, or CDI names such as `nvidia.com/gpu=all`. */
  readonly devices: readonly string[];
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  /** `disable`, or a label such as `type:container_t`. */
  readonly selinux?: string;
}

/** `/etc/berth/ssh.yml`: who gets which profile. */
export interface SshSettings {
  /** The first rule that matches applies. */
  readonly rules: readonly ProfileRule[];
  /** True for `rules: []`: the host has only profiles, for other programs than sshd. */
  readonly noSessions?: boolean;
  /** For users without a matching rule. */
  readonly otherwise: 'refuse' | 'host-shell';
  /** Groups whose members get a shell on the host, with `otherwise: host-shell` or if their profile is broken. */
  readonly hostShellGroups: readonly string[];
  /** Addresses and CIDRs of balancers, if sshd sees these instead of the addresses of clients. */
  readonly balancers: readonly string[];
  /** Directory of the shared images and of the users' container storage. */
  readonly storage: string;
  /** Path of root's docker config.json or podman auth.json, for `berth images pull`. */
  readonly registryAuth?: string;
  /** Path of the balancer's log on this node, for the clients' addresses. */
  readonly balancerLog?: string;
  /** Absent: logfmt. */
  readonly logFormat?: LogFormat;
  readonly podman: PodmanPaths;
  /** First word of the commands that the login itself answers, such as `berth sessions`; absent: it answers none. */
  readonly selfService?: string;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Profiles that cannot be used until they are repaired; they are not in `profiles`. */
  readonly broken: ReadonlyMap<string, BrokenProfile>;
}

export interface BrokenProfile {
  readonly error: BerthError;
  /** Its groups, if they could be read. */
  readonly groups?: readonly string[];
}

export interface ProfileRule {
  readonly profile: string;
  /** Replaces that of the profile. */
  readonly backend?: Backend;
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  /** Ports of sshd. */
  readonly ports?: readonly number[];
  /** The rule counts only for clients that ask for its profile. */
  readonly onRequest?: boolean;
}

/** Absolute paths of programs on the host, since PATH belongs to the user. */
export interface PodmanPaths {
  readonly podman: string;
  /** The OCI runtime that podman uses. */
  readonly runtime: string;
  readonly nsenter: string;
  /** The first process of each container, which reaps zombies. */
  readonly init: string;
  readonly cgroupManager: 'systemd' | 'cgroupfs';
  /** Mounts layers with the user's IDs; absent: the kernel's overlay file system. */
  readonly mountProgram?: string;
}

/** The backends of a profile's sessions: those of the rules that name it, else its own. */
export function sessionBackends(
  { name, backend }: Profile,
  rules: readonly ProfileRule[],
): ReadonlySet<Backend> {
  const own = rules.filter((rule) => rule.profile === name);
  return new Set(own.length === 0 ? [backend] : own.map((rule) => rule.backend ?? backend));
}

/** Whether a profile or a rule names this backend. */
export function namesBackend(
  { profiles, rules }: Pick<SshSettings, 'profiles' | 'rules'>,
  name: Backend,
): boolean {
  return [...profiles.values(), ...rules].some(({ backend }) => backend === name);
}
