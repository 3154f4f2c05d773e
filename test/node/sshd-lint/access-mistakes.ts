import { after, before, type Mistake } from './mistake.ts';

/** One mistake at a time in forced-command.conf, about who can log in, and about what is not cleaned up. */
export const accessMistakes: readonly Mistake[] = [
  {
    what: 'root with a password',
    seed: (text) => before('PermitRootLogin yes')(text).replace('AllowGroups berth', ''),
    code: 'root-login',
    severity: 'weakness',
    args: ['--user', 'root'],
  },
  {
    what: 'homes that others can write to',
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
    what: 'principals looked up by root',
    seed: before(
      'TrustedUserCAKeys /etc/ssh/ca.pub\n' +
        'AuthorizedPrincipalsCommand /usr/bin/true\nAuthorizedPrincipalsCommandUser root',
    ),
    code: 'keys-command-as-root',
    severity: 'weakness',
  },
  {
    what: 'a TrustedUserCAKeys that any user can create',
    seed: before('TrustedUserCAKeys /tmp/berth-lint-nobody-made-it.pub'),
    code: 'ca-keys-writable',
  },
  {
    what: 'RevokedKeys that any user can create',
    seed: before('RevokedKeys /tmp/berth-lint-nobody-made-it.krl'),
    code: 'ca-keys-writable',
  },
  {
    what: 'a library that sshd loads from a directory that any user can write to',
    seed: before('SecurityKeyProvider /tmp/berth-lint-nobody-made-it/sk.so'),
    code: 'program-writable',
  },
  {
    what: 'an AuthorizedKeysFile that is the same for all accounts',
    seed: before('AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys'),
    code: 'authorized-keys-shared',
    severity: 'weakness',
  },
  {
    what: 'an AuthorizedKeysFile that is the same for all accounts, with --user',
    seed: before('AuthorizedKeysFile /etc/ssh/100%%u'),
    code: 'authorized-keys-shared',
    severity: 'weakness',
    args: ['--user', 'ann'],
  },
  {
    what: 'xauth in a directory that any user can write to',
    seed: before('XAuthLocation /tmp/berth-lint-nobody-made-it/xauth'),
    code: 'program-writable',
  },
  {
    what: 'an Include of files that any user can create',
    seed: before('Include /tmp/berth-lint-nobody-made-it*.conf'),
    code: 'sshd-config-writable',
  },
  {
    what: 'a keys command that sshd refuses to run',
    seed: before(
      'AuthorizedKeysCommand /usr/local/sbin/berth-lint-nobody-made-it %u\nAuthorizedKeysCommandUser nobody',
    ),
    code: 'keys-command-refused',
    severity: 'advice',
  },
  {
    what: 'more addresses than the limit',
    seed: after(
      Array.from(
        { length: 300 },
        (_, index) =>
          `Match Address 10.${Math.floor(index / 100)}.${index % 100}.1\n  X11Forwarding no`,
      ).join('\n'),
    ),
    code: 'connections-left-out',
    severity: 'advice',
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
    what: 'connections of clients that disappeared stay',
    seed: before('ClientAliveInterval 0'),
    code: 'client-alive-off',
    severity: 'advice',
  },
  {
    what: 'sessions end when nothing is sent',
    seed: before('ChannelTimeout x11-connection=5m session:*=1h'),
    code: 'channel-timeout',
    severity: 'advice',
  },
  {
    what: 'keys of accounts with a longer name',
    seed: before('AuthorizedKeysFile /etc/ssh/authorized_keys/%u*'),
    code: 'authorized-keys-shared',
    severity: 'weakness',
  },
  {
    what: 'one session per connection',
    seed: before('MaxSessions 1'),
    code: 'max-sessions-low',
    severity: 'advice',
  },
  {
    what: 'a Match without a matching account',
    seed: after('Match Group no-such-group\n  X11Forwarding no'),
    code: 'match-not-probed',
    severity: 'advice',
  },
];
