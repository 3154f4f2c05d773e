import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  acceptedCodes,
  kindConfigText,
  type KindConfig,
} from '../../../../../src/setup/sshd-kinds/rules/kind-config.ts';
import { parseSshdConfigLines } from '../../../../../src/setup/sshd-lint/rules/config-lines.ts';

const kind: KindConfig = {
  ...{ name: 'gpu', mode: 'forced', port: 2223, addresses: ['192.0.2.1', '2001:db8::1'] },
  ...{ profile: 'gpu', banner: '/etc/issue.net', hostKeys: ['/etc/ssh/key'] },
  hostCertificates: ['/etc/ssh/key-cert.pub'],
  login: '/opt/berth/shell/login',
  sftpServer: '/usr/libexec/openssh/sftp-server',
  limits: [],
  accepted: ['shell-reads-home', 'tcp-forwarding'],
};
const template = (name: string): string =>
  readFileSync(new URL(`../../../../../etc/sshd/${name}.conf`, import.meta.url), 'utf8');
const values = (text: string, keyword: string): string[] =>
  parseSshdConfigLines(text).flatMap((line) => (line.keyword === keyword ? line.rest : []));

it.each(['forced-command', 'login-shell'])('%s.conf is the template of a kind', (name) => {
  const text = kindConfigText(template(name), kind);
  expect(values(text, 'port')).toEqual(['2223']);
  expect(values(text, 'listenaddress')).toEqual(['192.0.2.1', '2001:db8::1']);
  expect(values(text, 'hostkey')).toEqual(['/etc/ssh/key']);
  expect(values(text, 'hostcertificate')).toEqual(['/etc/ssh/key-cert.pub']);
  expect(values(text, 'banner')).toEqual(['/etc/issue.net']);
  expect(values(text, 'forcecommand')).toEqual(['/opt/berth/shell/login --profile gpu']);
  expect(values(text, 'subsystem')).toEqual(['sftp /usr/libexec/openssh/sftp-server']);
  expect(text).not.toContain('/usr/lib/berth');
  expect(text).not.toContain('sshd_config');
  expect(acceptedCodes(text)).toEqual(['shell-reads-home', 'tcp-forwarding']);

  // Everything else is as in the example.
  const own = ['port', 'listenaddress', 'pidfile', 'hostkey', 'hostcertificate', 'banner'];
  const rest = (lines: string) =>
    parseSshdConfigLines(lines)
      .map(({ keyword }) => keyword)
      .filter((keyword) => !own.includes(keyword));
  expect(rest(text)).toEqual(rest(template(name)));
});

it('has the limits behind balancers before any Match', () => {
  const text = kindConfigText(template('forced-command'), {
    ...kind,
    limits: ['MaxStartups 500:30:1000'],
  });
  expect(values(text, 'maxstartups')[0]).toBe('500:30:1000');
  expect(text.indexOf('MaxStartups')).toBeLessThan(text.search(/^ForceCommand/m));
});
