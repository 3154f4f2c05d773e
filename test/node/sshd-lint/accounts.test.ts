import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/site/ports.ts';
import { LintHost } from './lint-host.ts';
import { serve, stopServing } from './lint-sshd.ts';

/* Which accounts the linter evaluates, and with which addresses and ports. */
let host: LintHost;

beforeAll(async () => {
  host = await LintHost.make([
    { name: 'ann', shell: '/bin/sh', groups: ['berth'] },
    { name: 'bob', shell: '/bin/sh', groups: ['berth'] },
    { name: 'svc', uid: 911, shell: '/bin/bash', groups: ['services'] },
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
    ['AllowUsers of an included file', 'Include ALLOW'],
  ])('one of the system that %s lets in', async (_, line) => {
    const allow = await host.write('allow.conf', 'AllowUsers svc\n');
    const config = (await example()).replace('AllowGroups berth', line.replace('ALLOW', allow));
    const answer = await host.lint(config);
    expect(answer.severities).toEqual({ 'shell-reads-home': 'door' });
    expect(users(answer)).toContain('svc');
    expect(users(answer)).not.toContain('other');
    await host.allowKey('svc');
    const sshd = await serve(host, config.replace('@192.0.2.*', '@127.0.0.1'));
    expect((await sshd.ssh('svc', ['true'])).stdout).toContain('INSIDE');
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
    expect(answer.severities).toEqual({ 'no-forced-command': 'door' });
  });

  it('a name in AllowUsers without an account is ignored', async () => {
    const config = (await example()).replace('AllowGroups berth', 'AllowUsers ann nobody-has-it');
    expect((await host.lint(config)).severities).toEqual({});
  });
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
      await expect
        .poll(async () => (await host.lint(config)).codes, { timeout: 20_000 })
        .toEqual(['no-forced-command']);
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
      ...['lint', 'sshd', '--config', 'sshd_config.relative', '--login', 'login', '-o', 'json'],
      ...['--settings', 'ssh.yml', '--pam', 'pam-copy'],
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
