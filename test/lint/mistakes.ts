import { expect } from 'vitest';
import type { SshdFindingCode } from '../../src/config/sshd-finding.ts';

/** Puts a line before the example's own: of a keyword the first value counts. */
const before = (line: string) => (text: string) => `${line}\n${text}`;
const instead = (old: string, fresh: string) => (text: string) => {
  expect(text).toContain(old);
  return text.replace(old, fresh);
};
/** Into the section of a Match, at the end. */
const after = (lines: string) => (text: string) => `${text}\n${lines}\n`;

export interface Mistake {
  readonly what: string;
  readonly seed: (text: string) => string;
  readonly code: SshdFindingCode;
  readonly severity?: 'door' | 'weakness' | 'advice';
  readonly args?: readonly string[];
  /** Others that come with it. */
  readonly also?: readonly SshdFindingCode[];
}

/** One mistake at a time in forced-command.conf. */
export const mistakes: readonly Mistake[] = [
  {
    what: 'the command is forced for one group only',
    seed: (text) => instead('AllowGroups berth', '')(text).replace(/^ForceCommand .*$/m, ''),
    code: 'no-forced-command',
  },
  {
    what: 'another Match takes the forced command away again',
    seed: instead(
      'Match Group berth-gpu',
      'Match User ann\n  ForceCommand none\nMatch Group berth-gpu',
    ),
    code: 'no-forced-command',
  },
  {
    what: 'the Match for fewer people comes last',
    seed: instead(
      'Match Group berth-gpu',
      'Match Group berth\n  ForceCommand /usr/lib/berth/shell/login\nMatch Group berth-gpu',
    ),
    code: 'match-overridden',
    severity: 'weakness',
  },
  {
    what: 'a port without the forced command',
    seed: after('Match LocalPort 2222\n  ForceCommand none'),
    code: 'no-forced-command',
  },
  {
    what: 'an address without the forced command',
    seed: after('Match Address 10.1.0.0/16,!10.1.0.1\n  ForceCommand none'),
    code: 'no-forced-command',
  },
  {
    what: 'another login than the installed one',
    seed: before('ForceCommand /opt/berth/shell/login'),
    code: 'forced-command-other',
  },
  {
    what: 'a relative login',
    seed: before('ForceCommand berth-login'),
    code: 'forced-command-relative',
  },
  {
    what: "the user's text in a shell of the host",
    seed: before('ForceCommand /usr/lib/berth/shell/login $SSH_ORIGINAL_COMMAND'),
    code: 'forced-command-user-text',
  },
  {
    what: 'another command after the login',
    seed: before('ForceCommand /usr/lib/berth/shell/login || /bin/sh'),
    code: 'forced-command-metacharacters',
    severity: 'weakness',
  },
  {
    what: 'a token that sshd does not replace',
    seed: before('ForceCommand /usr/lib/berth/shell/login --profile %u'),
    code: 'forced-command-token',
    severity: 'weakness',
  },
  {
    what: 'an option that the login has not',
    seed: before('ForceCommand /usr/lib/berth/shell/login --image x'),
    code: 'forced-command-words',
    severity: 'weakness',
  },
  {
    what: 'sftp is forced',
    seed: before('ForceCommand internal-sftp -u 0077'),
    code: 'forced-command-internal-sftp',
  },
  {
    what: 'sftp is forced in a jail',
    seed: before('ForceCommand internal-sftp\nChrootDirectory %h'),
    code: 'forced-command-internal-sftp',
    severity: 'weakness',
    // Of gus, who has the login.
    also: ['chroot-directory'],
  },
  {
    what: 'a jail',
    seed: before('ChrootDirectory /srv'),
    code: 'chroot-directory',
    severity: 'weakness',
  },
  ...[
    ['bash', 'basil', 'shell-reads-home', 'door'],
    ['zsh', 'zed', 'shell-reads-home', 'door'],
    ['tcsh', 'tess', 'shell-reads-home', 'door'],
    ['a shell that nobody knows', 'newt', 'shell-unknown', 'weakness'],
  ].map(([what, user, code, severity]): Mistake => ({
    what: `${what ?? ''} runs the forced command`,
    seed: instead('AllowGroups berth', 'AllowGroups berth late'),
    code: code as SshdFindingCode,
    severity: severity as 'door' | 'weakness',
    args: ['--user', user ?? ''],
    also: ['match-not-probed'],
  })),
  {
    what: 'no forced command where sshd itself serves sftp',
    seed: (text) =>
      instead(
        'Subsystem sftp /usr/lib/openssh/sftp-server',
        'Subsystem sftp internal-sftp',
      )(text)
        .replace(/^Match Group.*$/m, '')
        .replaceAll(/^\s*ForceCommand .*$/gm, ''),
    code: 'sftp-on-host',
    also: ['no-forced-command'],
  },
  {
    what: '~/.ssh/rc where nothing is forced',
    seed: (text) =>
      before('PermitUserRC yes')(text)
        .replace(/^Match Group.*$/m, '')
        .replaceAll(/^\s*ForceCommand .*$/gm, ''),
    code: 'user-rc',
    also: ['no-forced-command'],
  },
  {
    what: 'no subsystem',
    seed: instead('Subsystem sftp /usr/lib/openssh/sftp-server', ''),
    code: 'no-sftp-subsystem',
    severity: 'advice',
  },
  ...[
    '*',
    'LD_*',
    'LD_PRELOAD',
    'BASH_ENV',
    'NODE_OPTIONS',
    'XDG_CONFIG_HOME',
    'CONTAINER*',
    'L*',
    '?NV',
  ].map((pattern): Mistake => ({
    what: `AcceptEnv ${pattern}`,
    seed: before(`AcceptEnv ${pattern}`),
    code: 'accept-env',
  })),
  ...['KUBECONFIG', 'SSL_CERT_FILE', 'DOCKER_HOST'].map((name): Mistake => ({
    what: `AcceptEnv ${name}`,
    seed: before(`AcceptEnv ${name}`),
    code: 'accept-env',
    severity: 'weakness',
  })),
  {
    what: '~/.ssh/environment',
    seed: before('PermitUserEnvironment yes'),
    code: 'permit-user-environment',
  },
  {
    what: 'a pattern of ~/.ssh/environment',
    seed: before('PermitUserEnvironment LANG,BASH_*'),
    code: 'permit-user-environment',
  },
  {
    what: 'Unix sockets of the host',
    seed: before('AllowStreamLocalForwarding yes'),
    code: 'stream-local-forwarding',
  },
  {
    what: 'Unix sockets from the client to the host',
    seed: before('AllowStreamLocalForwarding remote'),
    code: 'stream-local-forwarding',
    severity: 'weakness',
  },
  {
    what: 'ports open to the network',
    seed: before('GatewayPorts clientspecified'),
    code: 'gateway-ports',
    severity: 'weakness',
  },
  {
    what: 'a tunnel',
    seed: before('PermitTunnel yes'),
    code: 'permit-tunnel',
    severity: 'weakness',
  },
  {
    what: 'X11 open to the network',
    seed: before('X11UseLocalhost no'),
    code: 'x11-listens-everywhere',
    severity: 'weakness',
  },
  {
    what: 'root with a password',
    seed: (text) => before('PermitRootLogin yes')(text).replace('AllowGroups berth', ''),
    code: 'root-login',
    severity: 'weakness',
    args: ['--user', 'root'],
    also: ['shell-reads-home', 'match-not-probed'],
  },
  {
    what: 'homes that others write',
    seed: before('StrictModes no'),
    code: 'strict-modes-off',
    severity: 'weakness',
  },
  {
    what: 'empty passwords',
    seed: before('PermitEmptyPasswords yes'),
    code: 'empty-passwords',
    severity: 'weakness',
  },
  {
    what: 'keys looked up by root',
    seed: before('AuthorizedKeysCommand /usr/bin/true\nAuthorizedKeysCommandUser root'),
    code: 'keys-command-as-root',
    severity: 'weakness',
  },
  {
    what: 'no PAM',
    seed: before('UsePAM no'),
    code: 'pam-off',
    severity: 'weakness',
  },
  {
    what: 'no terminal',
    seed: before('PermitTTY no'),
    code: 'no-tty',
    severity: 'advice',
  },
  {
    what: 'vanished clients stay',
    seed: before('ClientAliveInterval 0'),
    code: 'client-alive-off',
    severity: 'advice',
  },
  {
    what: 'one session per connection',
    seed: before('MaxSessions 1'),
    code: 'max-sessions-low',
    severity: 'advice',
  },
  {
    what: 'a Match that nobody enters',
    seed: after('Match Group no-such-group\n  X11Forwarding no'),
    code: 'match-not-probed',
    severity: 'advice',
  },
];
