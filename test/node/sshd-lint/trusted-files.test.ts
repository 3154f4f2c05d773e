import { chmod, chown, copyFile, mkdir, rm, symlink } from 'node:fs/promises';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LintHost } from './lint-host.ts';
import { serve, stopServing } from './lint-sshd.ts';

/* Files that sshd trusts: if a user can write one, a real sshd shows what the user gains. */
let host: LintHost;

beforeAll(async () => {
  host = await LintHost.make([
    { name: 'ann', shell: '/bin/sh', groups: ['berth'] },
    { name: 'bob', shell: '/bin/sh', groups: ['berth'] },
    { name: 'own', shell: 'HOME/bin/sh', groups: ['late'] },
  ]);
});
afterEach(async () => {
  await stopServing();
  await host.cleanHomes();
});
afterAll(() => host.remove());

const withLines = async (lines: string) => `${lines}\n${await host.example('forced-command')}`;
const inside = { exitCode: 3, stdout: 'INSIDE args= original=true' };

/** Runs a script as this user on the host. */
async function as(user: string, script: string): Promise<void> {
  const uid = String(host.userOf(user).uid);
  const { command, words } = host.inside([
    ...['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', 'sh', '-ec', script],
  ]);
  await execa(command, words);
}

describe('TrustedUserCAKeys', () => {
  it.each([
    ['writable by all', 0, 0o666],
    ["a user's own", 47_001, 0o644],
  ])('%s: its writer signs for everybody', async (_, uid, mode) => {
    const trusted = await host.write('etc/ssh/ca.pub', '');
    const config = await withLines('TrustedUserCAKeys /etc/ssh/ca.pub');
    expect((await host.lint(config)).severities).toEqual({});
    await chmod(trusted, mode);
    await chown(trusted, uid, 0);
    const answer = await host.lint(config);
    expect(answer.severities).toEqual({ 'ca-keys-writable': 'critical' });
    const places = answer.report?.samples.flatMap(({ findings }) => findings);
    expect(places?.[0]?.place).toBe(`${host.path('sshd_config')}:1`);

    const home = host.homeOf('ann');
    await copyFile(host.path('keys/ann.pub'), `${home}/id.pub`);
    await as(
      'ann',
      `ssh-keygen -q -t ed25519 -N '' -f ${home}/ca; cat ${home}/ca.pub > /etc/ssh/ca.pub;` +
        `ssh-keygen -q -s ${home}/ca -I ann -n bob ${home}/id.pub`,
    );
    const sshd = await serve(host, config);
    const identity = ['-i', host.path('keys/ann'), '-o', `CertificateFile=${home}/id-cert.pub`];
    expect(await sshd.ssh('bob', [...identity, '--', 'true'])).toMatchObject(inside);
    await chown(trusted, 0, 0);
  });
});

describe('AuthorizedKeysCommand', () => {
  const program = '/etc/ssh/keys/command';
  const config = (path = program) =>
    withLines(`AuthorizedKeysCommand ${path} %u\nAuthorizedKeysCommandUser nobody`);

  beforeAll(async () => {
    const script = `#!/bin/sh\ncat ${host.path('keys')}/$1.pub\n`;
    await host.write('etc/ssh/keys/command', script, 0o755);
  });

  it('that only root can write is not reported', async () => {
    expect((await host.lint(await config())).severities).toEqual({});
    expect(await (await serve(host, await config())).ssh('ann', ['true'])).toMatchObject(inside);
  });

  it('that users can write is not run by sshd, so it is not critical', async () => {
    await chmod(host.path('etc/ssh/keys/command'), 0o777);
    const answer = await host.lint(await config());
    const { exitCode } = await (await serve(host, await config())).ssh('ann', ['true']);
    await chmod(host.path('etc/ssh/keys/command'), 0o755);
    expect(answer.severities).toEqual({ 'keys-command-refused': 'advice' });
    const [finding] = answer.report?.samples.flatMap(({ findings }) => findings) ?? [];
    expect(finding?.place).toBe(`${host.path('sshd_config')}:1`);
    expect(exitCode).toBe(255);
  });

  it('that users can replace by a link to a program of root is critical', async () => {
    await mkdir(host.path('etc/ssh/shared'));
    await chmod(host.path('etc/ssh/shared'), 0o777);
    await host.write('etc/ssh/shared/command', '#!/bin/sh\n', 0o777);
    const refused = await host.lint(await config('/etc/ssh/shared/command'));
    // sshd only checks the target of the link.
    const echo =
      'AuthorizedKeysCommand /etc/ssh/shared/link %t %k\nAuthorizedKeysCommandUser nobody';
    await symlink('/usr/bin/echo', host.path('etc/ssh/shared/link'));
    const login = await (await serve(host, await withLines(echo))).ssh('ann', ['true']);
    await rm(host.path('etc/ssh/shared'), { recursive: true });

    expect(refused.severities).toEqual({ 'program-writable': 'critical' });
    expect(login).toMatchObject(inside);
  });

  it('that users can redirect with a link is critical: sshd runs the target', async () => {
    await mkdir(host.path('etc/ssh/open'));
    await symlink(program, host.path('etc/ssh/open/command'));
    await chmod(host.path('etc/ssh/open'), 0o777);
    const linked = await config('/etc/ssh/open/command');
    expect((await host.lint(linked)).severities).toEqual({ 'program-writable': 'critical' });
    expect(await (await serve(host, linked)).ssh('ann', ['true'])).toMatchObject(inside);
  });
});

describe('AuthorizedKeysFile', () => {
  it('that is the same for all accounts is reported', async () => {
    await copyFile(host.path('keys/ann.pub'), host.path('etc/ssh/shared'));
    const config = await withLines('AuthorizedKeysFile /etc/ssh/shared');
    expect((await host.lint(config)).severities).toEqual({ 'authorized-keys-shared': 'weakness' });
    const asAnn = ['-i', host.path('keys/ann'), '--', 'true'];
    expect(await (await serve(host, config)).ssh('bob', asAnn)).toMatchObject(inside);
  });

  it('of each account, or of one account, is not reported', async () => {
    const own = await withLines(
      'AuthorizedKeysFile /etc/ssh/authorized_keys/%u .ssh/keys %h/.keys',
    );
    const quoted = await withLines('AuthorizedKeysFile "/etc/ssh/authorized keys/%u" .ssh/keys');
    const ofOne = `${await withLines('')}Match User ann\n  AuthorizedKeysFile /etc/ssh/ann\n`;
    const onlyOne = await withLines('AllowUsers ann\nAuthorizedKeysFile /etc/ssh/ann');
    for (const config of [own, quoted, ofOne, onlyOne])
      expect((await host.lint(config)).severities).toEqual({});
  });
});

describe('Include', () => {
  it("of a user's directory is reported, even if it is empty", async () => {
    await host.allowKey('ann');
    const config = await withLines(`Include ${host.path('home')}/*/sshd.d/*.conf`);
    const answer = await host.lint(config);
    expect(answer.severities).toEqual({ 'sshd-config-writable': 'critical' });
    const directory = `${host.homeOf('ann')}/sshd.d`;
    const lines = 'Match User ann\\n  ForceCommand none\\n';
    await as('ann', `mkdir ${directory}; printf '${lines}' > ${directory}/mine.conf`);
    expect((await (await serve(host, config)).ssh('ann', ['echo HOST'])).stdout).toBe('HOST');
  });

  it("of root's directories is not reported", async () => {
    await host.write('etc/ssh/sshd_config.d/10.conf', 'X11Forwarding no\n');
    const config = await withLines('Include sshd_config.d/*.conf "/etc/ssh/more.d/*.conf"');
    expect((await host.lint(config)).severities).toEqual({});
  });
});

describe('the shell in passwd', () => {
  it('that the user can replace, by any path, runs instead of the forced command', async () => {
    await host.allowKey('own');
    const config = (await withLines('')).replace('AllowGroups berth', 'AllowGroups late');
    // The same if it does not exist yet.
    expect((await host.lint(config)).severities).toEqual({ 'shell-writable': 'critical' });
    await host.writeInHome('own', 'bin/sh', '#!/bin/sh\necho HOST\n', 0o755);
    expect((await host.lint(config)).severities).toEqual({ 'shell-writable': 'critical' });
    expect((await (await serve(host, config)).ssh('own', ['true'])).stdout).toBe('HOST');
  });
});

describe('the login program by another path', () => {
  it('a link that only root can change is accepted', async () => {
    await mkdir(host.path('bin'), { recursive: true });
    await symlink('../login', host.path('bin/berth'));
    await host.allowKey('ann');
    const config = (await withLines('')).replaceAll(host.path('login'), host.path('bin/berth'));
    expect((await host.lint(config)).severities).toEqual({});
    expect(await (await serve(host, config)).ssh('ann', ['true'])).toMatchObject(inside);
  });

  it('a link that a user can replace is critical', async () => {
    const link = `${host.homeOf('ann')}/login`;
    await symlink(host.path('login'), link);
    const config = (await withLines('')).replaceAll(host.path('login'), link);
    expect((await host.lint(config)).severities).toEqual({ 'login-writable': 'critical' });
  });

  it('in quotes is accepted', async () => {
    await host.allowKey('ann');
    const login = host.path('login');
    const text = await withLines('');
    for (const quoted of [`"${login}"`, `'${login}'`, `"${login}" --profile "normal"`]) {
      const config = text.replace(`ForceCommand ${login}`, `ForceCommand ${quoted}`);
      expect((await host.lint(config)).severities).toEqual({});
      const { stdout } = await (await serve(host, config)).ssh('ann', ['true']);
      expect(stdout).toMatch(/^INSIDE /);
    }
  });

  it('in a directory whose name contains a blank is accepted', async () => {
    const login = await host.write('my berth/login', '#!/bin/sh\necho INSIDE\n', 0o755);
    const config = (await withLines('')).replace(host.path('login'), `"${login}"`);
    expect((await host.lint(config, '--login', login)).severities).toEqual({});
  });
});
