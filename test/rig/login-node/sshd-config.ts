import type { Account } from '../site/accounts.ts';

/** How sshd starts Berth: as ForceCommand, as the login shell in passwd(5), or not at all. */
export type LoginMode = 'forced' | 'login-shell' | 'plain';

export interface SshdConfig {
  readonly address: string;
  readonly port: number;
  readonly mode: LoginMode;
  readonly users: readonly Account[];
  /** Command line for ForceCommand. */
  readonly login: string;
  /** Lines that take precedence over the defaults; those from the first `Match` on are appended at the end. */
  readonly extraLines: string;
}

/** The sshd_config(5) of a login node; sshd uses the first value of each keyword. */
export function sshdConfig({
  address,
  port,
  mode,
  users,
  login,
  extraLines: extra,
}: SshdConfig): string {
  const lines = extra.split('\n');
  const match = lines.findIndex((line) => /^\s*match\s/i.test(line));
  const [first, last] = match === -1 ? [lines, []] : [lines.slice(0, match), lines.slice(match)];
  const forced = [
    `Match User ${users.map(({ name }) => name).join(',')}`,
    `  ForceCommand ${login}`,
  ];
  return [
    ...first,
    `ListenAddress ${address}`,
    `Port ${port}`,
    'HostKey /etc/ssh/host_key',
    'PidFile /run/sshd.pid',
    'AuthorizedKeysFile /etc/ssh/authorized_keys/%u .ssh/authorized_keys',
    'UsePAM yes',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'X11Forwarding yes',
    'PrintMotd no',
    'AcceptEnv LANG LC_*',
    'Subsystem sftp /usr/lib/openssh/sftp-server',
    'LogLevel VERBOSE',
    'UseDNS no',
    // Tests open many connections at once, and sshd must not refuse them.
    'MaxStartups 500',
    'MaxSessions 500',
    ...last,
    ...(mode === 'forced' ? forced : []),
    '',
  ].join('\n');
}
