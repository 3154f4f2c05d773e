import { describe, expect, it } from 'vitest';
import { parseSshdOptions } from '../../../../../src/setup/sshd-lint/rules/options.ts';

/** What the versions print of the same configuration, as their sources have it; the rest left out. */
const printed = {
  // RHEL 7: no permitlisten, one subsystem, PermitUserEnvironment knows no patterns.
  '7.4': `port 22
protocol 2
addressfamily any
listenaddress [::]:22
usepam yes
logingracetime 120
maxsessions 10
clientaliveinterval 30
clientalivecountmax 3
permitrootlogin without-password
pubkeyauthentication yes
x11forwarding yes
x11uselocalhost yes
permittty yes
permituserrc yes
strictmodes yes
permitemptypasswords no
permituserenvironment no
gatewayports no
allowtcpforwarding local
allowagentforwarding yes
disableforwarding no
allowstreamlocalforwarding no
useprivilegeseparation sandbox
xauthlocation /usr/bin/xauth
forcecommand /usr/lib/berth/shell/login --profile gpu
authorizedkeyscommand none
authorizedkeyscommanduser none
authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2
allowgroups berth
allowgroups admins
acceptenv LANG
acceptenv LC_*
subsystem sftp /usr/libexec/openssh/sftp-server -l INFO
permittunnel no
permitopen any
`,
  // The newest: mixed case, PAMServiceName, RefuseConnection.
  '10': `Port 22
AddressFamily any
ListenAddress [::]:22
UsePAM yes
PAMServiceName sshd
LoginGraceTime 120
MaxSessions 10
ClientAliveInterval 30
ClientAliveCountMax 3
PermitRootLogin prohibit-password
PubkeyAuthentication yes
X11Forwarding yes
X11UseLocalhost yes
PermitTTY yes
PermitUserRC yes
StrictModes yes
PermitEmptyPasswords no
GatewayPorts no
AllowTcpForwarding local
AllowAgentForwarding yes
DisableForwarding no
AllowStreamLocalForwarding no
RefuseConnection no
XAuthLocation /usr/bin/xauth
ForceCommand /usr/lib/berth/shell/login --profile gpu
ChrootDirectory none
TrustedUserCAKeys none
AuthorizedPrincipalsFile none
AuthorizedKeysCommand none
AuthorizedKeysCommandUser none
AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2
AllowGroups berth
AllowGroups admins
AcceptEnv LANG
AcceptEnv LC_*
Subsystem sftp /usr/libexec/openssh/sftp-server -l INFO
PermitTunnel no
PermitOpen any
PermitListen any
PermitUserEnvironment no
`,
};

describe('the output of sshd -T', () => {
  it('says the same in all versions', () => {
    const old = parseSshdOptions(printed['7.4']);
    expect(parseSshdOptions(printed['10'])).toEqual(old);
    expect(parseSshdOptions(printed['10'].replaceAll('\n', '\r\n'))).toEqual(old);
    expect(old).toMatchObject({
      ports: [22],
      forceCommand: '/usr/lib/berth/shell/login --profile gpu',
      subsystems: [{ name: 'sftp', command: '/usr/libexec/openssh/sftp-server -l INFO' }],
      acceptEnv: ['LANG', 'LC_*'],
      allowGroups: ['berth', 'admins'],
      allowTcpForwarding: 'local',
      allowStreamLocalForwarding: 'no',
      permitUserEnvironment: 'none',
      permitRootLogin: 'prohibit-password',
      authorizedKeysFiles: ['.ssh/authorized_keys', '.ssh/authorized_keys2'],
      pamServiceName: 'sshd',
    });
    expect(old).not.toHaveProperty('authorizedKeysCommand');
    expect(old).not.toHaveProperty('chrootDirectory');
  });

  it('takes lists on one line as on several', () => {
    const joined = printed['10'].replace('AcceptEnv LANG\nAcceptEnv LC_*', 'AcceptEnv LANG LC_*');
    expect(parseSshdOptions(joined)).toEqual(parseSshdOptions(printed['10']));
  });

  it.each([
    ['yes', 'all'],
    ['no', 'none'],
    ['LANG,LC_*', 'LANG,LC_*'],
  ])('PermitUserEnvironment %s', (value, meaning) => {
    const text = printed['10'].replace('Environment no', `Environment ${value}`);
    expect(parseSshdOptions(text)?.permitUserEnvironment).toBe(meaning);
  });

  it.each(['', 'sshd: no hostkeys available -- exiting.\n', 'port 22\n', '{"port": 22}'])(
    '%j is none',
    (text) => {
      expect(parseSshdOptions(text)).toBeUndefined();
    },
  );
});
