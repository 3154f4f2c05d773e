import type { BerthError } from '../../errors.ts';
import type { PodFields } from './pod-fields.ts';

/**
 * What a session is made of, whatever runs it. Checked and frozen (`parseProfile`); text that may hold
 * `$USER`, `$UID`, `$GID` or `$HOME` is a template, filled in for the user when a session is planned.
 */
export interface Profile {
  readonly name: string;
  /** What a session runs in; a rule may say otherwise. */
  readonly backend: Backend;
  /** `NAME[:TAG][@sha256:…]`. */
  readonly image: string;
  readonly pull: 'never' | 'missing' | 'always';
  readonly lifetime: Lifetime;
  readonly mounts: readonly ProfileMount[];
  /** `host`, `none`, `private` (slirp4netns or pasta), or a name of podman's networks. */
  readonly network: string;
  /** Template; the host's own name where absent. */
  readonly hostname?: string;
  readonly environment: ProfileEnvironment;
  /** Absolute path inside; the user's own of passwd where absent, and /bin/sh where the image lacks that. */
  readonly shell?: string;
  readonly limits: ProfileLimits;
  /** X11 forwarding and agent forwarding lead to the inside. */
  readonly x11: boolean;
  readonly agent: boolean;
  readonly slurm?: ProfileSlurm;
  /** Unix groups, one of which the user must be in; everybody where absent. */
  readonly groups?: readonly string[];
  readonly failure: FailurePolicy;
  /** Milliseconds that the start of a container may take. */
  readonly deadlineMs: number;
  /** Only Podman understands these; a pod ignores them and the linter says so. */
  readonly podman: PodmanFields;
  /** Only pods understand these. */
  readonly pod: PodFields;
}

/** A container of Podman on this host, or a pod on a cluster. */
export type Backend = 'podman' | 'pod';

export type Lifetime =
  /** A container per connection, gone with it. */
  | { readonly kind: 'connection' }
  /** One container that all of the user's connections share. */
  | {
      readonly kind: 'user';
      /** Milliseconds that it stays after the last connection. */
      readonly graceMs: number;
      /** True: what ignores SIGHUP (nohup, tmux) outlives its connection. */
      readonly linger: boolean;
    }
  /** One container, ended this many milliseconds after its start. */
  | { readonly kind: 'duration'; readonly durationMs: number; readonly linger: boolean };

export interface ProfileMount {
  /** Absolute path on the host, a template. */
  readonly source: string;
  /** Absolute path inside, a template; the source where absent. */
  readonly target?: string;
  readonly readOnly: boolean;
  /** What to do when the source is not there. */
  readonly missing: 'fail' | 'skip';
}

export interface ProfileEnvironment {
  /** Names, or prefixes ending in `*`, that the client may hand in (beside TERM, LANG and LC_*). */
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
  /** Folder of slurm.conf on the host. */
  readonly config: string;
  /** Folder of munge's socket on the host. */
  readonly munge: string;
}

export interface FailurePolicy {
  readonly action: 'refuse' | 'fallback' | 'host-shell';
  /** For `fallback`: the image that is tried instead. */
  readonly image?: string;
  /** For `host-shell`: only members of these groups get one; the others are refused. */
  readonly groups: readonly string[];
}

export interface PodmanFields {
  /** Device paths, or CDI names such as `nvidia.com/gpu=all`. */
  readonly devices: readonly string[];
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  /** `disable`, or a label such as `type:container_t`. */
  readonly selinux?: string;
}

/** `/etc/berth/ssh.yml`: which profile for whom. */
export interface SshSettings {
  /** In order; the first that fits counts. */
  readonly rules: readonly ProfileRule[];
  /** For whom no rule fits. */
  readonly otherwise: 'refuse' | 'host-shell';
  /** With `otherwise: host-shell`, and as break-glass: only members of these groups get one. */
  readonly hostShellGroups: readonly string[];
  /** Folder of the shared images and of the users' container storage. */
  readonly storage: string;
  /** docker's config.json or podman's auth.json of root's, for `berth images pull`. */
  readonly registryAuth?: string;
  readonly podman: PodmanPaths;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Profiles that cannot be used until somebody mends them; none of them is in `profiles`. */
  readonly broken: ReadonlyMap<string, BrokenProfile>;
}

export interface BrokenProfile {
  readonly error: BerthError;
  /** Who it was for, where at least that could be read. */
  readonly groups?: readonly string[];
}

export interface ProfileRule {
  readonly profile: string;
  /** In place of the profile's. */
  readonly backend?: Backend;
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  /** Of sshd's side. */
  readonly ports?: readonly number[];
}

/** The host's own programs, absolute: PATH is the user's. */
export interface PodmanPaths {
  readonly podman: string;
  /** The OCI runtime that the containers are made with. */
  readonly runtime: string;
  readonly nsenter: string;
  /** The first process of each container, which reaps what others leave. */
  readonly init: string;
  readonly cgroupManager: 'systemd' | 'cgroupfs';
  /** Mounts the layers with the user's IDs; absent: the kernel's own overlay. */
  readonly mountProgram?: string;
}
