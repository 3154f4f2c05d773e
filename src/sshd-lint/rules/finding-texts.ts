import type { SshdFindingCode } from './sshd-finding.ts';

/** What a finding of the linter means, in Markdown: docs/ssh-sshd.md has the same table, and `berth explain` prints it. */
export interface FindingText {
  readonly opens: string;
  readonly closedBy: string;
}

export const findingTexts: Readonly<Record<SshdFindingCode, FindingText>> = {
  'no-forced-command': {
    opens: 'a shell on the host',
    closedBy: '`ForceCommand /usr/lib/berth/shell/login`',
  },
  'forced-command-other': {
    opens: 'a program other than the installed login program',
    closedBy: '`ForceCommand /usr/lib/berth/shell/login`',
  },
  'forced-command-relative': {
    opens: "a program in the user's home",
    closedBy: 'an absolute path',
  },
  'forced-command-user-text': {
    opens: '`$SSH_ORIGINAL_COMMAND` in a shell of the host, or as options of the login program',
    closedBy: 'no shell syntax in ForceCommand',
  },
  'forced-command-metacharacters': {
    opens: 'another program on the host after `;`, `|` or `&`; a weakness: `$`, `*`, `>`',
    closedBy: 'no shell syntax in ForceCommand',
  },
  'forced-command-token': {
    opens: 'nothing: sshd does not expand `%u` there',
    closedBy: '`--profile NAME`',
  },
  'forced-command-arguments': {
    opens: 'nothing: the login program refuses the arguments, or runs them inside',
    closedBy: '`--profile NAME`; none with the login shell',
  },
  'forced-command-internal-sftp': {
    opens: "the host's files, served by sshd itself",
    closedBy: '`ForceCommand /usr/lib/berth/shell/login`',
  },
  'shell-reads-home': {
    opens: '`~/.bashrc`, `~/.zshenv`, `~/.cshrc`, … before the forced command',
    closedBy: 'the login program as shell in passwd',
  },
  'shell-unknown': {
    opens: 'whatever that shell reads',
    closedBy: 'the login program as shell in passwd',
  },
  'shell-writable': {
    opens: 'everything: the shell in passwd is a file that users can replace',
    closedBy: '`usermod --shell /usr/lib/berth/shell/login`',
  },
  'sftp-on-host': {
    opens: "the host's files: `Subsystem sftp internal-sftp`, and no ForceCommand",
    closedBy: '`Subsystem sftp /usr/lib/openssh/sftp-server`',
  },
  'sftp-by-key-option': {
    opens: 'the host\'s files: `command="internal-sftp"` of a user\'s key',
    closedBy: 'ForceCommand, in addition to the login shell',
  },
  'no-sftp-subsystem': {
    opens: 'nothing: sftp and scp fail',
    closedBy: '`Subsystem sftp /usr/lib/openssh/sftp-server`',
  },
  'user-rc': {
    opens: '`~/.ssh/rc`; a second session if the login program is the shell',
    closedBy: '`PermitUserRC no`',
  },
  'chroot-directory': {
    opens: "another program at the login program's path",
    closedBy: '`ChrootDirectory none`',
  },
  'no-tty': { opens: 'nothing: no terminal', closedBy: '`PermitTTY yes`' },
  'stream-local-forwarding': {
    opens: 'Unix sockets of the host',
    closedBy: '`AllowStreamLocalForwarding no`',
  },
  'tcp-forwarding': {
    opens: "the host's network, which not all sessions have",
    closedBy: '`AllowTcpForwarding no`, or `network: host`; see Forwards',
  },
  'gateway-ports': { opens: 'ports of the host, on the network', closedBy: '`GatewayPorts no`' },
  'permit-tunnel': { opens: 'tun devices of the host', closedBy: '`PermitTunnel no`' },
  'x11-listens-everywhere': {
    opens: "the user's display, on the network",
    closedBy: '`X11UseLocalhost yes`',
  },
  'accept-env': {
    opens: '`LD_PRELOAD`, `NODE_OPTIONS`, `BASH_ENV`, … from the client',
    closedBy: '`AcceptEnv LANG LC_*`',
  },
  'permit-user-environment': {
    opens: '`LD_PRELOAD`, … from `~/.ssh/environment` and `environment=`',
    closedBy: '`PermitUserEnvironment no`',
  },
  'set-env': {
    opens: "code that the site's own variable loads; a door if users can write it",
    closedBy: 'removing SetEnv of `LD_*`, `NODE_*`, `BASH_ENV`, …',
  },
  'root-login': { opens: 'root', closedBy: '`PermitRootLogin no`' },
  'strict-modes-off': {
    opens: 'the account, for everyone who can write to the home',
    closedBy: '`StrictModes yes`',
  },
  'empty-passwords': {
    opens: 'accounts without a password',
    closedBy: '`PermitEmptyPasswords no`',
  },
  'keys-command-as-root': {
    opens: 'a program that runs as root, for clients that are not authenticated',
    closedBy: '`AuthorizedKeysCommandUser`, `AuthorizedPrincipalsCommandUser`',
  },
  'keys-command-refused': {
    opens: 'nothing: sshd does not run it, because users other than root can write it',
    closedBy: 'owner root, `go-w`, for file and directories',
  },
  'authorized-keys-shared': {
    opens: 'every account, for each key in a file that is the same for all',
    closedBy: '`AuthorizedKeysFile /etc/ssh/authorized_keys/%u`',
  },
  'ca-keys-writable': {
    opens: 'every account: users can write to TrustedUserCAKeys or RevokedKeys',
    closedBy: 'owner root, `go-w`, for file and directories',
  },
  'pam-off': { opens: 'nothing: sessions are not cleaned up', closedBy: '`UsePAM yes`' },
  'client-alive-off': {
    opens: 'nothing: sessions of clients that disappeared stay',
    closedBy: '`ClientAliveInterval 30`',
  },
  'max-sessions-low': {
    opens: 'nothing: ControlMaster and VS Code fail',
    closedBy: '`MaxSessions 10`',
  },
  'penalties-deny-all': {
    opens:
      'nothing: failed logins from many addresses make sshd refuse everybody (OpenSSH 9.8 and later)',
    closedBy: '`PerSourcePenalties overflow:permissive`',
  },
  'channel-timeout': {
    opens: 'nothing: sshd ends silent sessions, also running commands',
    closedBy: '`ChannelTimeout none`, and `timeouts.idle` of the profile',
  },
  'login-missing': { opens: 'nothing: no session starts', closedBy: 'reinstalling it' },
  'login-not-executable': { opens: 'nothing: no session starts', closedBy: '`chmod 755`' },
  'login-writable': {
    opens: 'everything: users can replace the login program, or the Node that runs it',
    closedBy: 'owner root, `go-w`, for file and directories',
  },
  'settings-writable': {
    opens: 'everything: users can write the settings of sessions',
    closedBy: 'owner root, `go-w`, for file and directories',
  },
  'settings-invalid': {
    opens: 'nothing: no session starts with this ssh.yml or profile',
    closedBy: 'correcting the named line',
  },
  'profile-key-ignored': {
    opens: 'nothing: the key is for the other backend',
    closedBy: 'removing the key',
  },
  'profile-reaches-far': {
    opens:
      'nothing on the host: sessions of the profile reach further than their own files and processes',
    closedBy: 'removing the capability or device from the profile',
  },
  'sshd-config-writable': {
    opens: "everything: users can write sshd's configuration, or to a directory of an Include",
    closedBy: 'owner root and `go-w`, for files and directories',
  },
  'option-not-judged': {
    opens: 'not known: an option that the linter does not know, as of a newer release of sshd',
    closedBy: 'removing it, or reading what it opens in sshd_config(5)',
  },
  'program-writable': {
    opens: "everything: users can replace programs of sshd or PAM, or PAM's files and modules",
    closedBy: 'owner root and `go-w`, for files and directories',
  },
  'pam-unreadable': { opens: 'not known', closedBy: 'restoring the file' },
  'pam-session-missing': {
    opens: 'nothing: sessions are not cleaned up',
    closedBy: 'the lines of `/usr/lib/berth/share/etc/pam.d/berth-session`',
  },
  'pam-session-unreached': {
    opens: 'nothing: sessions are not cleaned up; an earlier line ends the stack or skips the hook',
    closedBy: 'moving its line before that one, or `optional` there',
  },
  'pam-session-early': {
    opens: 'nothing: the hook runs before what it needs exists',
    closedBy: 'moving its lines to the end',
  },
  'pam-line-mistyped': {
    opens: 'nothing: a type, control, module or program that does not exist',
    closedBy: 'correcting the line',
  },
  'pam-user-environment': {
    opens: '`LD_PRELOAD`, … from `~/.pam_environment`, for root too',
    closedBy: 'removing `user_readenv`',
  },
  'pam-module-not-judged': {
    opens: 'not known: a module of PAM that reads files of the user, or runs scripts, on this host',
    closedBy: 'removing its line, or reading what its manual page lets users write',
  },
  'user-manager-reads-home': {
    opens:
      'units and variables that a session wrote to `~/.config`, run by systemd at the next login',
    closedBy: '`/etc/systemd/system/user@.service.d/berth.conf`',
  },
  'mail-runs-home-commands': {
    opens: 'commands of `~/.forward`, run by the mail server of this host',
    closedBy: '`postconf -e allow_mail_to_commands=alias`',
  },
  'cron-runs-on-host': {
    opens: 'commands of crontabs and at jobs of users, with files of the home that they run',
    closedBy: '`crontab -u NAME -r` and `atrm` for accounts of sessions',
  },
  'port-unprivileged': {
    opens: 'while sshd is stopped, any user of the host can listen on its port: a false sshd',
    closedBy: '`Port` below 1024, such as 332',
  },
  'balancer-penalties': {
    opens:
      'nothing: sshd refuses everybody who comes through a balancer after failed logins of anyone (OpenSSH 9.8 and later)',
    closedBy: '`PerSourcePenaltyExemptList` with the addresses of the balancers',
  },
  'balancer-source-startups': {
    opens: 'nothing: few people can log in at the same time',
    closedBy: '`PerSourceMaxStartups none`',
  },
  'balancer-net-block': {
    opens: 'nothing: several balancers count as one address',
    closedBy: '`PerSourceNetBlockSize 32:128`',
  },
  'balancer-max-startups': {
    opens: 'nothing: logins fail at random when many people log in',
    closedBy: '`MaxStartups 500:30:1000`',
  },
  'balancer-use-dns': { opens: 'nothing: each login waits for DNS', closedBy: '`UseDNS no`' },
  'balancer-address': {
    opens:
      'Match Address, Match Host and `USER@HOST` see the address of the balancer: a weakness if they match it',
    closedBy: 'Match User, Group or LocalPort',
  },
  'match-overridden': {
    opens: 'the wrong profile, or none: an earlier Match applies',
    closedBy: 'moving the more specific Match first',
  },
  'match-not-probed': {
    opens: 'not known: no account was found that matches',
    closedBy: '`--user NAME`',
  },
  'connections-left-out': {
    opens:
      'not known: more than 200 different connections, and each Match block was checked with one',
    closedBy: '`--user NAME --address ADDRESS`',
  },
  'accounts-not-evaluated': {
    opens: 'not known: sshd admits accounts that NSS does not list',
    closedBy: '`--user NAME`',
  },
};
