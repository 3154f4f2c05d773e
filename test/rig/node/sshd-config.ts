import type { Account } from '../site/accounts.ts';

/** How users reach Berth: ForceCommand of sshd, the shell in passwd, or not at all. */
export type LoginMode = 'forced' | 'login-shell' | 'plain';

export interface SshdConfig {
  readonly port: number;
  readonly mode: LoginMode;
  readonly users: readonly Account[];
  /** Command line of the forced command. */
  readonly login: string;
  /** Lines that take precedence; from the first `Match` on, they are appended instead. */
  readonly extra: string;
}

/** sshd_config(5) of a login node. sshd uses the first value of each keyword. */
export function sshdConfig({ port, mode, users, login, extra }: SshdConfig): string {
  const lines = extra.split('\n');
  const match = lines.findIndex((line) => /^\s*match\s/i.test(line));
  const [first, last] = match === -1 ? [lines, []] : [lines.slice(0, match), lines.slice(match)];
  const forced = [
    `Match User ${users.map(({ name }) => name).join(',')}`,
    `  ForceCommand ${login}`,
  ];
  return [
    ...first,
    'ListenAddress 127.0.0.1',
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
    // Tests open many connections at once, which sshd would refuse by default.
    'MaxStartups 500',
    'MaxSessions 500',
    ...last,
    ...(mode === 'forced' ? forced : []),
    '',
  ].join('\n');
}
