import type { SshdFindingCode } from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';
import { after, before, instead, type Mistake } from './mistake.ts';

/** One mistake at a time in forced-command.conf. */
export const mistakes: readonly Mistake[] = [
  {
    what: 'the command is forced for one group only',
    seed: (text) => instead('AllowGroups berth', '')(text).replace(/^ForceCommand .*$/m, ''),
    code: 'no-forced-command',
  },
  {
    what: 'another Match takes the forced command away again',
    seed: after('Match User ann\n  ForceCommand none'),
    code: 'no-forced-command',
  },
  {
    what: 'the Match for fewer people comes last',
    seed: after(
      'Match Group berth\n  ForceCommand /usr/lib/berth/shell/login\n' +
        'Match Group berth-gpu\n  ForceCommand /usr/lib/berth/shell/login --profile gpu',
    ),
    code: 'match-overridden',
    severity: 'weakness',
  },
  {
    what: 'a port without the forced command',
    seed: (text) =>
      after('Match LocalPort 332\n  ForceCommand none')(before('Port 22\nPort 332')(text)),
    code: 'no-forced-command',
  },
  {
    what: 'a port on which any user may listen while sshd is stopped',
    seed: before('Port 2222'),
    code: 'port-unprivileged',
    severity: 'weakness',
  },
  {
    what: 'such a port of ListenAddress',
    seed: before('ListenAddress 127.0.0.1:1024'),
    code: 'port-unprivileged',
    severity: 'weakness',
  },
  {
    what: 'a port of ListenAddress without the forced command',
    seed: (text) =>
      after('Match LocalPort 332\n  ForceCommand none')(before('ListenAddress [::]:332')(text)),
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
  },
  ...['; /bin/sh', '| tee -a log', '&& sh', '--profile a;sh', '& sh'].map((rest): Mistake => ({
    what: `${rest} after the login`,
    seed: before(`ForceCommand /usr/lib/berth/shell/login ${rest}`),
    code: 'forced-command-metacharacters',
  })),
  ...['--profile $PROFILE', '--profile *', '> log', '--profile "$HOME"'].map((rest): Mistake => ({
    what: `${rest} after the login`,
    seed: before(`ForceCommand /usr/lib/berth/shell/login ${rest}`),
    code: 'forced-command-metacharacters',
    severity: 'weakness',
  })),
  {
    what: 'a token that sshd does not replace',
    seed: before('ForceCommand /usr/lib/berth/shell/login --profile %u'),
    code: 'forced-command-token',
    severity: 'weakness',
  },
  {
    what: 'an option that the login has not',
    seed: before('ForceCommand /usr/lib/berth/shell/login --image x'),
    code: 'forced-command-arguments',
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
  },
  {
    what: 'a jail',
    seed: before('ChrootDirectory /srv'),
    code: 'chroot-directory',
    severity: 'weakness',
  },
  ...[
    ['bash', 'basil', 'shell-reads-home', 'critical'],
    ['zsh', 'zed', 'shell-reads-home', 'critical'],
    ['tcsh', 'tess', 'shell-reads-home', 'critical'],
    ['a shell that nobody knows', 'newt', 'shell-unknown', 'weakness'],
  ].map(([what, user, code, severity]): Mistake => ({
    what: `${what ?? ''} runs the forced command`,
    seed: instead('AllowGroups berth', 'AllowGroups berth late'),
    code: code as SshdFindingCode,
    severity: severity as 'critical' | 'weakness',
    args: ['--user', user ?? ''],
  })),
  {
    what: 'no forced command where sshd itself serves sftp',
    seed: (text) =>
      instead(
        'Subsystem sftp /usr/lib/openssh/sftp-server',
        'Subsystem sftp internal-sftp',
      )(text).replace(/^ForceCommand .*$/m, ''),
    code: 'sftp-on-host',
    also: ['no-forced-command'],
  },
  {
    what: '~/.ssh/rc where nothing is forced',
    seed: (text) => before('PermitUserRC yes')(text).replace(/^ForceCommand .*$/m, ''),
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
  ...['KUBECONFIG', 'SSL_CERT_FILE', 'DOCKER_HOST', 'BERTH_*'].map((name): Mistake => ({
    what: `AcceptEnv ${name}`,
    seed: before(`AcceptEnv ${name}`),
    code: 'accept-env',
    severity: 'weakness',
  })),
  ...[
    'LD_PRELOAD=/usr/lib/site.so',
    'LD_LIBRARY_PATH=/usr/lib',
    'NODE_OPTIONS=--max-old-space-size=64',
    'BASH_ENV=/etc/profile',
  ].map((assignment): Mistake => ({
    what: `SetEnv ${assignment}`,
    seed: before(`SetEnv ${assignment}`),
    code: 'set-env',
    severity: 'weakness',
  })),
  {
    what: 'SetEnv of what users can write',
    seed: before('SetEnv NODE_OPTIONS=--require=/tmp/site.cjs'),
    code: 'set-env',
  },
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
];
