/**
 * `door`: code of the user's choice runs on the host, or the host's files and sockets are open.
 * `weakness`: the session is passed by, or a door opens with one more mistake. `advice`: something
 * will not work or stays behind.
 */
export type SshdSeverity = 'door' | 'weakness' | 'advice';

/** One way past the forced command, or into the host. */
export interface SshdFinding {
  /** Stable, kebab-case; one for each rule. */
  readonly code: SshdFindingCode;
  readonly severity: SshdSeverity;
  /** What is open, in one sentence. */
  readonly message: string;
  /** The directive, line or command that closes it. */
  readonly closedBy: string;
  /** The keyword that it is about, where its code is not about one alone. */
  readonly directive?: string;
  /** `FILE:LINE` of the directive; absent where it is a default of sshd's, or of no directive. */
  readonly place?: string;
}

/** What the rules know about the account of a sample, and about this host. */
export interface SshdSample {
  readonly user: string;
  readonly isRoot: boolean;
  /** Of passwd; absent for an account that nobody knows: whoever else may come. */
  readonly shell?: string;
  /** Berth's login, with every name that leads to it. */
  readonly login: LoginProgram;
  /** Whether the sessions' network is the host's own. */
  readonly sessionNetwork: 'host' | 'other' | 'unknown';
  /** Of each path that the options and passwd name. */
  readonly paths: ReadonlyMap<string, PathCheck>;
  /** Those of AuthorizedKeysFile that are the same for several accounts. */
  readonly sharedKeyFiles: ReadonlySet<string>;
}

/** What is known of a file that sshd's configuration or passwd names. */
export interface PathCheck {
  /** After symbolic links. */
  readonly real: string;
  /** How others than root can put another file in its place. */
  readonly open?: { readonly message: string; readonly closedBy: string };
  /** With `open`: true where they can also put a symbolic link there. */
  readonly linkable?: boolean;
  /** Why sshd would refuse to run it for AuthorizedKeysCommand. */
  readonly unsafe?: string;
}

export interface LoginProgram {
  /** Where it is installed: the word that directives should name. */
  readonly path: string;
  /** The same file by other names, after symbolic links. */
  readonly aliases: readonly string[];
}

export type SshdFindingCode =
  // How a session starts.
  | 'no-forced-command'
  | 'forced-command-other'
  | 'forced-command-relative'
  | 'forced-command-user-text'
  | 'forced-command-metacharacters'
  | 'forced-command-token'
  | 'forced-command-words'
  | 'forced-command-internal-sftp'
  | 'shell-reads-home'
  | 'shell-unknown'
  | 'shell-writable'
  | 'sftp-on-host'
  | 'sftp-by-key-option'
  | 'no-sftp-subsystem'
  | 'user-rc'
  | 'chroot-directory'
  | 'no-tty'
  // What sshd does without a session.
  | 'stream-local-forwarding'
  | 'tcp-forwarding'
  | 'gateway-ports'
  | 'permit-tunnel'
  | 'x11-listens-everywhere'
  // What comes into the environment.
  | 'accept-env'
  | 'permit-user-environment'
  | 'set-env'
  // Who comes in.
  | 'root-login'
  | 'strict-modes-off'
  | 'empty-passwords'
  | 'keys-command-as-root'
  | 'keys-command-refused'
  | 'authorized-keys-shared'
  | 'ca-keys-writable'
  | 'pam-off'
  | 'client-alive-off'
  | 'max-sessions-low'
  // The host, for everybody.
  | 'login-missing'
  | 'login-not-executable'
  | 'login-writable'
  | 'settings-writable'
  | 'profile-key-unheard'
  | 'sshd-config-writable'
  | 'program-writable'
  | 'pam-unreadable'
  | 'pam-session-missing'
  | 'pam-session-unreached'
  | 'pam-session-early'
  | 'pam-line-mistyped'
  | 'pam-user-environment'
  // The Match blocks.
  | 'match-overridden'
  | 'match-not-probed'
  | 'connections-left-out';

const order: readonly SshdSeverity[] = ['door', 'weakness', 'advice'];

/** Doors first; otherwise as they were found. */
export function bySeverity(findings: readonly SshdFinding[]): SshdFinding[] {
  return [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}
