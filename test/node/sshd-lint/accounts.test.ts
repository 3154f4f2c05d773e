import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { LintHost } from './lint-host.ts';
import { serve, stopServing } from './lint-sshd.ts';

/* Which accounts the linter evaluates, and with which addresses and ports. */
let host: LintHost;

beforeAll(async () => {
  host = await LintHost.make([
    { name: 'ann', shell: '/bin/sh', groups: ['berth'] },
    { name: 'bob', shell: '/bin/sh', groups: ['berth'] },
    {
      name: 'svc',
      uid: 911,
      shell: '/bin/bash',
      groups: ['services', 'hpc linux users'],
      primary: 'domain users',
    },
    { name: 'other', uid: 912, shell: '/bin/bash', groups: [] },
  ]);
});
afterEach(async () => {
  await stopServing();
  await host.cleanHomes();
});
afterAll(() => host.remove());

const example = () => host.example('forced-command');
const users = (answer: Awaited<ReturnType<LintHost['lint']>>) =>
  [...new Set(answer.report?.samples.map(({ user }) => user))].sort();

describe('accounts', () => {
  it.each([
    ['AllowUsers', 'AllowUsers svc'],
    ['AllowUsers with a host', 'AllowUsers s*@192.0.2.*'],
    ['AllowGroups', 'AllowGroups services'],
    ['AllowGroups with blanks', 'AllowGroups nobody-there "hpc linux users"'],
    ['a pattern of AllowGroups', 'AllowGroups hpc?linux*'],
    ['AllowGroups by its primary group', 'AllowGroups domain\\ users'],
    ['DenyGroups for others', 'AllowUsers svc\nDenyGroups "hpc services"'],
    ['AllowUsers of an included file', 'Include ALLOW'],
  ])('one of the system that %s lets in', async (_, line) => {
    const allow = await host.write('allow.conf', 'AllowUsers svc\n');
    const config = (await example()).replace('AllowGroups berth', line.replace('ALLOW', allow));
    const answer = await host.lint(config);
    expect(answer.severities).toEqual({ 'shell-reads-home': 'critical' });
    expect(users(answer)).toContain('svc');
    expect(users(answer)).not.toContain('other');
    await host.allowKey('svc');
    const sshd = await serve(host, config.replace('@192.0.2.*', '@127.0.0.1'));
    expect((await sshd.ssh('svc', ['true'])).stdout).toContain('INSIDE');
  });

  it.each([
    ['pam_access', 'pam_access.so accessfile=LIST', '+ : root svc : ALL\n- : ALL : ALL\n'],
    [
      'a group of pam_access',
      'pam_access.so accessfile=LIST listsep=,',
      '+:(x y),(hpc linux users):ALL\n',
    ],
    ['pam_listfile', 'pam_listfile.so item=user sense=allow file=LIST onerr=fail', 'svc\n'],
    [
      'a group of pam_listfile',
      'pam_listfile.so item=group sense=allow file=LIST',
      'domain users\n',
    ],
    ['pam_succeed_if', 'pam_succeed_if.so quiet user ingroup x:services', ''],
  ])('one of the system that %s lets in', async (_, line, list) => {
    const file = await host.write('pam-list', list);
    const pam = await host.write(
      'pam-copy',
      `account required ${line.replace('LIST', file)}\n${host.pam('')}`,
    );
    const config = (await example()).replace('AllowGroups berth', '');
    const answer = await host.lint(config, '--pam', pam);
    expect(users(answer)).toContain('svc');
    expect(users(answer)).not.toContain('other');
  });

  it('an entry of AllowGroups is one pattern, without commas', async () => {
    const config = (await example()).replace('AllowGroups berth', 'AllowGroups berth,services !x');
    const answer = await host.lint(config);
    const refused = answer.report?.samples.filter(({ refusedBy }) => refusedBy === 'AllowGroups');
    expect(refused?.length).toBe(answer.report?.samples.length);
    await host.allowKey('ann');
    const sshd = await serve(host, config);
    expect((await sshd.ssh('ann', ['true'])).exitCode).toBe(255);
  });

  it('system accounts that nothing names are not linted', async () => {
    for (const line of ['', 'AllowUsers *']) {
      const answer = await host.lint((await example()).replace('AllowGroups berth', line));
      expect(users(answer)).not.toContain('svc');
    }
  });

  it('two that a Match admits and refuses are linted separately', async () => {
    const block = 'Match Address 10.0.0.0/8\n  AllowUsers bob\n  ForceCommand none\n';
    const answer = await host.lint(`${await example()}${block}`);
    expect(answer.severities).toEqual({ 'no-forced-command': 'critical' });
  });

  it('a name in AllowUsers without an account is ignored', async () => {
    const config = (await example()).replace('AllowGroups berth', 'AllowUsers ann nobody-has-it');
    expect((await host.lint(config)).severities).toEqual({});
  });
});

it('no fix for an sshd at which admins log in locks them out', async () => {
  const own = /^(?:ForceCommand|AllowGroups|PermitRootLogin) .*$/gm;
  const { report } = await host.lint((await example()).replaceAll(own, ''));
  const of = (name: string) => report?.samples.find(({ user }) => user === name)?.findings ?? [];
  const forced = of('ann').find(({ code }) => code === 'no-forced-command');
  expect(forced?.closedBy).toMatch(/in a Match block .*: for everybody, it would lock root out$/);
  expect(of('root').map(({ code }) => code)).toEqual(['root-login']);
  expect(of('root')[0]?.closedBy).toMatch(/^PermitRootLogin no, as soon as admins can log in/);
});

describe('endpoints', () => {
  it('a port is linted only if a program listens on it', async () => {
    const { port } = await freePorts(['port']);
    const text = await example();
    const config = `${text}Match LocalPort ${port}\n  ForceCommand none\n`;
    expect((await host.lint(config)).codes).toEqual([]);
    expect((await host.lint(config, '--port', String(port))).codes).toEqual(['no-forced-command']);
    // sshd's command line or a socket unit may add such a port.
    const { command, words } = host.inside([
      ...['/usr/sbin/sshd', '-D', '-f', await host.write('sshd_config.port', text)],
      ...['-o', `Port=${port}`, '-o', 'ListenAddress=127.0.0.1', '-o', 'PidFile=none'],
    ]);
    const started = execa(command, words, { reject: false });
    try {
      await expect.poll(async () => (await host.lint(config)).codes).toEqual(['no-forced-command']);
    } finally {
      started.kill();
      await started;
    }
  });

  it('addresses with the same Match blocks are tried once per account', async () => {
    const blocks = Array.from(
      { length: 300 },
      (_, index) =>
        `Match Group nobody-there Address 10.0.${Math.floor(index / 100)}.${index % 100}\n  X11Forwarding no\n`,
    );
    const answer = await host.lint(`${await example()}${blocks.join('')}`);
    expect(answer.codes).toEqual(['match-not-probed']);
    expect(answer.report?.samples.length).toBeLessThan(10);
  });
});

describe('relative paths of files', () => {
  it('are relative to the current directory', async () => {
    const config = await host.write('sshd_config.relative', await example());
    await host.write('etc/pam.d/sshd', host.pam('', ''));
    await host.write('pam-copy', host.pam(''));
    const answer = await host.berth(
      ...[
        'sshd',
        'lint',
        '--sshd-config',
        'sshd_config.relative',
        '--login',
        'login',
        '-o',
        'json',
      ],
      ...['--config-dir', '.', '--pam', 'pam-copy'],
    );
    expect(answer.stderr).toBe('');
    expect(answer.codes).toEqual([]);
    expect(answer.exitCode).toBe(0);
    await host.write('etc/pam.d/sshd', host.pam(''));
    expect(await readFile(config, 'utf8')).toContain('ForceCommand');
  });
});

it('the commented Match block of forced-command.conf works', async () => {
  const text = await readFile(
    join(import.meta.dirname, '../../../etc/sshd/forced-command.conf'),
    'utf8',
  );
  const taken = `HostKey ${host.path('host_key')}\n${host.withLogin(text.replaceAll(/^# (Match Group|    Force)/gm, '$1'))}`;
  expect(taken).toMatch(/^Match Group berth-gpu\n {4}ForceCommand \S+ --profile gpu$/m);
  // No account is in that group here.
  expect((await host.lint(taken)).codes).toEqual(['match-not-probed']);
});
