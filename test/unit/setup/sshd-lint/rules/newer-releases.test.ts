import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  accessFindings,
  refusingKeyword,
} from '../../../../../src/setup/sshd-lint/rules/access-findings.ts';
import { parseSshdConfigLines } from '../../../../../src/setup/sshd-lint/rules/config-lines.ts';
import { keywordFindings } from '../../../../../src/setup/sshd-lint/rules/keyword-findings.ts';
import { parseSshdOptions } from '../../../../../src/setup/sshd-lint/rules/options.ts';
import { relevantPaths } from '../../../../../src/setup/sshd-lint/rules/relevant-paths.ts';
import { anybody } from '../../../../../src/setup/sshd-lint/lint-connections.ts';
import { pamServices } from '../../../../../src/setup/sshd-lint/lint-sshd.ts';
import { parseSshdConfigFiles } from '../../../../../src/setup/sshd-lint/sshd-effective.ts';
import { matchesConnection } from '../../../../../src/setup/sshd-lint/rules/match.ts';
import type { SshdSample } from '../../../../../src/setup/sshd-lint/rules/sshd-finding.ts';

/** What `sshd -T` of OpenSSH 10.5 prints of a configuration that the linter accepts; the rest left out. */
const printed = `Port 22
UsePAM yes
MaxSessions 10
ClientAliveInterval 30
ClientAliveCountMax 3
StrictModes yes
PermitEmptyPasswords no
PubkeyAuthentication yes
RefuseConnection no
UnusedConnectionTimeout none
ChannelTimeout none
PubkeyAuthOptions none
AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2
AuthorizedPrincipalsFile none
PAMServiceName sshd
SshdSessionPath /usr/lib/openssh/sshd-session
SshdAuthPath /usr/lib/openssh/sshd-auth
SecurityKeyProvider internal
TrustedUserCAKeys none
RevokedKeys none
PerSourcePenalties crash:90.000000 authfail:5.000000 noauth:1.000000 invaliduser:5.000000 grace-exceeded:10.000000 refuseconnection:10.000000 max:600.000000 min:15.000000 max-sources4:65536 max-sources6:65536 overflow:permissive overflow6:permissive
`;

/** The same, with another value of one option. */
function optionsWith(line: string) {
  const [keyword = ''] = line.split(' ');
  const options = parseSshdOptions(printed.replace(new RegExp(`^${keyword} .*$`, 'm'), line));
  if (options === undefined) throw new Error(`no options: ${line}`);
  return options;
}

function directivesOf(...lines: readonly string[]) {
  return parseSshdConfigLines(lines.join('\n')).map((line) => ({
    ...line,
    file: '/etc/ssh/sshd_config',
    criteria: [],
  }));
}

const sample: SshdSample = {
  user: 'ann',
  isRoot: false,
  shell: '/bin/sh',
  login: { path: '/usr/lib/berth/shell/login', aliases: [] },
  rootLogsIn: false,
  sessionNetwork: 'unknown',
  paths: new Map([
    ['/tmp/b.krl', { real: '/tmp/b.krl', open: { message: 'open', closedBy: 'chmod' } }],
  ]),
  sharedKeyFiles: new Set(),
};

describe('options of OpenSSH 9.3 to 10.5', () => {
  it.each([
    ['Port 22', undefined],
    ['ChannelTimeout session=5m agent-connection=1m', 'channel-timeout'],
    ['ChannelTimeout x11-connection=5m global=1h', 'channel-timeout'],
    ['ChannelTimeout *=30s', 'channel-timeout'],
    ['ChannelTimeout session=0 direct-tcpip=5m', undefined],
    ['UnusedConnectionTimeout 60', undefined],
    ['PubkeyAuthOptions verify-required', undefined],
    ['PerSourcePenalties no', undefined],
    [
      'PerSourcePenalties max:600.000000 overflow:permissive overflow6:deny-all',
      'penalties-deny-all',
    ],
    ['AuthorizedKeysFile none', undefined],
    ['AuthorizedKeysFile /etc/ssh/keys/%u/*.pub', undefined],
    ['AuthorizedKeysFile .ssh/*-%u', undefined],
    ['AuthorizedKeysFile /etc/ssh/keys/%u* .ssh/authorized_keys', 'authorized-keys-shared'],
    ['AuthorizedKeysFile /etc/ssh/keys/*-%U.pub', 'authorized-keys-shared'],
    ['AuthorizedPrincipalsFile /etc/ssh/principals/%u', undefined],
    ['AuthorizedPrincipalsFile /etc/ssh/principals/%u*', 'authorized-keys-shared'],
    ['RevokedKeys /etc/ssh/a.krl /tmp/b.krl', 'ca-keys-writable'],
    ['SshdSessionPath /tmp/b.krl', 'program-writable'],
    ['SshdAuthPath /tmp/b.krl', 'program-writable'],
    ['SecurityKeyProvider /tmp/b.krl', 'program-writable'],
  ])('%s', (line, code) => {
    const options = optionsWith(line);
    expect(accessFindings(options, sample).map((one) => one.code)).toEqual(code ? [code] : []);
    expect(refusingKeyword(options, { user: 'ann', groups: [] }, false)).toBeUndefined();
  });

  it('PAMServiceName names a file of PAM, also in a Match', () => {
    const options = optionsWith('PAMServiceName ssh-berth');
    const directives = directivesOf('Match User bob', 'PAMServiceName ssh-bob');
    expect(pamServices(options, directives)).toEqual(['ssh-berth', 'ssh-bob']);
  });

  it('RefuseConnection keeps the account out', () => {
    const options = optionsWith('RefuseConnection yes');
    const refusedBy = refusingKeyword(options, { user: 'ann', groups: [] }, false);
    expect(refusedBy).toBe('RefuseConnection');
  });

  it('each of several RevokedKeys is a file that matters', () => {
    const options = optionsWith('RevokedKeys /etc/ssh/a.krl /etc/ssh/b.krl');
    expect(relevantPaths(options, undefined)).toEqual(
      expect.arrayContaining(['/etc/ssh/a.krl', '/etc/ssh/b.krl']),
    );
  });

  it('Match Version is decided by the release of the sshd', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'match-version-'));
    const [config, sshd] = [join(directory, 'sshd_config'), join(directory, 'sshd')];
    await writeFile(config, 'Match Version OpenSSH_10.*\nMatch Version=OpenSSH_9.*\n');
    // Stands in for the releases that this host does not have.
    for (const [version, expected] of [
      ['OpenSSH_10.5p1 Debian-1, OpenSSL 3.5.0 8 Apr 2025', [true, false]],
      ['OpenSSH_9.9p2, OpenSSL 3.5.0 8 Apr 2025', [false, true]],
    ] as const) {
      await writeFile(sshd, `#!/bin/sh\necho '${version}' >&2\n`, { mode: 0o755 });
      const { blocks } = await parseSshdConfigFiles(config, sshd);
      expect(blocks.map((block) => matchesConnection(block, anybody))).toEqual(expected);
    }
    await rm(directory, { recursive: true });
  });

  it('an option of a later release is named, with its line', () => {
    const lines = ['RefuseConnection no', 'GSSAPIDelegateCredentials no', 'AllowTeleport yes now'];
    expect(keywordFindings(directivesOf(...lines))).toMatchObject([
      { code: 'option-not-judged', severity: 'advice', place: '/etc/ssh/sshd_config:3' },
    ]);
  });
});
