/**
 * `critical`: users can run code of their choice on the host, or reach its files and sockets. `weakness`: users can
 * bypass the session, or one more mistake would let them. `advice`: something does not work, or is not cleaned up.
 */
export type SshdSeverity = 'critical' | 'weakness' | 'advice';

/** One way past the forced command or onto the host, or something that does not work. */
export interface SshdFinding {
  /** Stable, kebab-case, one per rule. */
  readonly code: SshdFindingCode;
  readonly severity: SshdSeverity;
  /** What users can do, in one sentence. */
  readonly message: string;
  /** The directive, line or command that closes it; printed after "closed by:". */
  readonly closedBy: string;
  /** The keyword that it is about, if the code can be about several. */
  readonly directive?: string;
  /** `FILE:LINE` of the directive; absent if the value is sshd's default, or if it is about no directive. */
  readonly place?: string;
}

type MakeFinding = (
  code: SshdFindingCode,
  message: string,
  closedBy: string,
  directive?: string,
) => SshdFinding;

const makerOf =
  (severity: SshdSeverity): MakeFinding =>
  (code, message, closedBy, directive) => ({ code, severity, message, closedBy, directive });

export const critical = makerOf('critical');
export const weakness = makerOf('weakness');
export const advice = makerOf('advice');

/** The account of a connection, and facts about this host, for the rules. */
export interface SshdSample {
  readonly user: string;
  readonly isRoot: boolean;
  /** From passwd; absent for the account that stands for users who are not in passwd. */
  readonly shell?: string;
  /** Berth's login program with all paths that lead to it. */
  readonly login: LoginProgram;
  /** Whether root can log in at this sshd, which a ForceCommand for everybody would end. */
  readonly rootLogsIn: boolean;
  /** Whether sessions use the host's network. */
  readonly sessionNetwork: { readonly otherProfiles: readonly string[] } | 'unknown';
  /** By path: the checks of all paths in the options and in passwd. */
  readonly paths: ReadonlyMap<string, PathCheck>;
  /** Files of AuthorizedKeysFile that are the same for several accounts. */
  readonly sharedKeyFiles: ReadonlySet<string>;
}

/** Facts about a file that sshd's configuration or passwd names. */
export interface PathCheck {
  /** Path after symbolic links. */
  readonly real: string;
  /** Set if users other than root can replace it. */
  readonly open?: { readonly message: string; readonly closedBy: string };
  /** Set with `open`: whether they can also put a symbolic link in its place. */
  readonly linkable?: boolean;
  /** Why sshd would refuse to run it as AuthorizedKeysCommand. */
  readonly unsafe?: string;
}

export interface LoginProgram {
  /** Its installed path, which directives should name. */
  readonly path: string;
  /** Other paths of the same file, through symbolic links. */
  readonly aliases: readonly string[];
}

export const sshdFindingCodes = [
  // Start of a session.
  'no-forced-command',
  'forced-command-other',
  'forced-command-relative',
  'forced-command-user-text',
  'forced-command-metacharacters',
  'forced-command-token',
  'forced-command-arguments',
  'forced-command-internal-sftp',
  'shell-reads-home',
  'shell-unknown',
  'shell-writable',
  'sftp-on-host',
  'sftp-by-key-option',
  'no-sftp-subsystem',
  'user-rc',
  'chroot-directory',
  'no-tty',
  // What sshd does without a session.
  'stream-local-forwarding',
  'tcp-forwarding',
  'gateway-ports',
  'permit-tunnel',
  'x11-listens-everywhere',
  // Environment.
  'accept-env',
  'permit-user-environment',
  'set-env',
  // Who can log in.
  'root-login',
  'strict-modes-off',
  'empty-passwords',
  'keys-command-as-root',
  'keys-command-refused',
  'authorized-keys-shared',
  'ca-keys-writable',
  'pam-off',
  'client-alive-off',
  'max-sessions-low',
  'penalties-deny-all',
  'channel-timeout',
  // The host, for all connections.
  'login-missing',
  'login-not-executable',
  'login-writable',
  'settings-writable',
  'settings-invalid',
  'profile-key-ignored',
  'profile-reaches-far',
  'sshd-config-writable',
  'option-not-judged',
  'program-writable',
  'pam-unreadable',
  'pam-session-missing',
  'pam-session-unreached',
  'pam-session-early',
  'pam-line-mistyped',
  'pam-user-environment',
  'pam-module-not-judged',
  'user-manager-reads-home',
  'mail-runs-home-commands',
  'cron-runs-on-host',
  'port-unprivileged',
  // Behind a balancer.
  'balancer-penalties',
  'balancer-source-startups',
  'balancer-net-block',
  'balancer-max-startups',
  'balancer-use-dns',
  'balancer-address',
  // Match blocks.
  'match-overridden',
  'match-not-probed',
  'connections-left-out',
  'accounts-not-evaluated',
] as const;

export type SshdFindingCode = (typeof sshdFindingCodes)[number];

export function isFindingCode(code: string): code is SshdFindingCode {
  return sshdFindingCodes.some((known) => known === code);
}

const order: readonly SshdSeverity[] = ['critical', 'weakness', 'advice'];

/** Sorts critical ones first, advice last. */
export function bySeverity(findings: readonly SshdFinding[]): SshdFinding[] {
  return [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}
