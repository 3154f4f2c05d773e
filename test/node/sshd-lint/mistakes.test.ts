import { chmod, chown, rm } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LintHost } from './lint-host.ts';
import { accessMistakes } from './access-mistakes.ts';
import { mistakes } from './mistakes.ts';

let forced: LintHost;
let shell: LintHost;

beforeAll(async () => {
  const berth = ['berth'];
  forced = await LintHost.make([
    { name: 'ann', shell: '/bin/sh', groups: berth },
    { name: 'gus', shell: '/bin/dash', groups: ['berth', 'berth-gpu'] },
    { name: 'out', shell: '/bin/bash' },
    { name: 'basil', shell: '/bin/bash', groups: ['late'] },
    { name: 'zed', shell: '/usr/bin/zsh', groups: ['late'] },
    { name: 'tess', shell: '/bin/tcsh', groups: ['late'] },
    { name: 'newt', shell: '/opt/nu', groups: ['late'] },
  ]);
  shell = await LintHost.make([
    { name: 'ann', shell: 'LOGIN', groups: berth },
    { name: 'out', shell: '/bin/bash' },
  ]);
});
afterAll(async () => {
  await forced.remove();
  await shell.remove();
});

describe('the examples of etc/sshd', () => {
  it.each([
    ['forced-command', () => forced],
    ['login-shell', () => shell],
  ] as const)('%s: nothing is open, exit 0', async (name, host) => {
    const answer = await host().lint(await host().example(name));
    expect(answer.stderr).toBe('');
    expect(answer.codes).toEqual([]);
    expect(answer.exitCode).toBe(0);
    const refused = answer.report?.samples.filter(({ refusedBy }) => refusedBy !== undefined);
    expect(refused?.map(({ user, refusedBy }) => `${user} ${refusedBy ?? ''}`)).toContain(
      'root AllowGroups',
    );
  });
});

describe('one mistake in forced-command.conf is reported', () => {
  it.each([...mistakes, ...accessMistakes])(
    '$what: $code',
    async ({ seed, code, severity = 'critical', args, also = [] }) => {
      const text = seed(
        (await forced.example('forced-command')).replaceAll(
          forced.path('login'),
          '/usr/lib/berth/shell/login',
        ),
      );
      const answer = await forced.lint(forced.withLogin(text), ...(args ?? []));
      expect(answer.stderr).toBe('');
      expect(answer.exitCode).toBe(1);
      expect(answer.codes).toEqual([...new Set([code, ...also])].sort());
      expect(answer.severities[code]).toBe(severity);
    },
  );
});

describe('one mistake in login-shell.conf', () => {
  const withoutForce = (text: string) => text.replace(/^ForceCommand .*$/m, '');

  it("command= of a user's key makes sshd serve the host's files without ForceCommand", async () => {
    const answer = await shell.lint(withoutForce(await shell.example('login-shell')));
    expect(answer.severities).toEqual({ 'sftp-by-key-option': 'critical' });
    const keys = `AuthorizedKeysFile /etc/ssh/authorized_keys/%u\n`;
    const quoted = `AuthorizedKeysFile "/etc/ssh/authorized keys/%u"\n`;
    for (const line of [keys, quoted]) {
      const kept = await shell.lint(line + withoutForce(await shell.example('login-shell')));
      expect(kept.codes).toEqual([]);
    }
  });

  it('internal-sftp starts no login shell', async () => {
    const text = withoutForce(await shell.example('login-shell'));
    const answer = await shell.lint(
      text.replace(/^Subsystem sftp .*$/m, 'Subsystem sftp internal-sftp'),
    );
    expect(answer.severities['sftp-on-host']).toBe('critical');
  });

  it('~/.ssh/rc runs inside, before each session', async () => {
    const text = withoutForce(await shell.example('login-shell'));
    const answer = await shell.lint(`PermitUserRC yes\n${text}`);
    expect(answer.severities['user-rc']).toBe('weakness');
  });

  it('options in ForceCommand reach a login shell as text', async () => {
    const text = (await shell.example('login-shell')).replace(
      /^ForceCommand .*$/m,
      '$& --profile gpu',
    );
    expect((await shell.lint(text)).codes).toEqual(['forced-command-arguments']);
  });

  it('an account with another shell is reported', async () => {
    const text = withoutForce(await shell.example('login-shell')).replace('AllowGroups', '#');
    const answer = await shell.lint(text, '--user', 'out');
    expect(answer.severities['no-forced-command']).toBe('critical');
  });
});

describe('one mistake on the host', () => {
  let example: string;
  beforeEach(async () => {
    example = await forced.example('forced-command');
  });

  it('users can write to the login program, or to its directory', async () => {
    const directory = await forced.write('open/login', '#!/bin/sh\n', 0o755);
    const text = example.replaceAll(forced.path('login'), directory);
    const codes = async () => (await forced.lint(text, '--login', directory)).severities;
    expect(await codes()).toEqual({});
    await chmod(directory, 0o775);
    expect(await codes()).toEqual({ 'login-writable': 'critical' });
    await chmod(directory, 0o755);
    await chmod(forced.path('open'), 0o777);
    expect(await codes()).toEqual({ 'login-writable': 'critical' });
    await chmod(forced.path('open'), 0o755);
    await chown(directory, forced.userOf('ann').uid, 0);
    expect(await codes()).toEqual({ 'login-writable': 'critical' });
    await chown(directory, 0, 0);
    await chmod(directory, 0o744);
    expect(await codes()).toEqual({ 'login-not-executable': 'weakness' });
  });

  it('users can write to the interpreter of the login program', async () => {
    const program = await forced.write('runs/node', '#!/bin/sh\n', 0o777);
    const login = await forced.write('runs/login', `#!/usr/bin/env -S ${program} --x\n`, 0o755);
    const text = example.replaceAll(forced.path('login'), login);
    expect((await forced.lint(text, '--login', login)).codes).toEqual(['login-writable']);
  });

  it('the login program is missing', async () => {
    const login = forced.path('nowhere/login');
    const answer = await forced.lint(
      example.replaceAll(forced.path('login'), login),
      ...['--login', login],
    );
    expect(answer.codes).toEqual(['login-missing']);
  });

  it('users can write to a profile', async () => {
    const path = forced.path('profiles/normal.yml');
    await chmod(path, 0o666);
    const answer = await forced.lint(example);
    await chmod(path, 0o644);
    expect(answer.severities['settings-writable']).toBe('critical');
  });

  it('a profile has its own network: forwards bypass it', async () => {
    const profile = 'image: registry.invalid/site:1\nnetwork: private\n';
    await forced.write('profiles/apart.yml', profile);
    const open = await forced.lint(example);
    const closed = await forced.lint(`AllowTcpForwarding no\n${example}`);
    const listed = await forced.lint(`PermitOpen none\nPermitListen none\n${example}`);
    await forced.write('profiles/apart.yml', profile.replace('private', 'host'));
    expect(open.severities).toEqual({ 'tcp-forwarding': 'weakness' });
    expect([...closed.codes, ...listed.codes]).toEqual([]);
  });

  it('a profile for pods has keys for Podman', async () => {
    const profile = 'image: registry.invalid/site:1\nbackend: pod\nlimits: {pids: 99}\n';
    const path = await forced.write('profiles/cloud.yml', profile);
    const answer = await forced.lint(`AllowTcpForwarding no\n${example}`);
    await rm(path);
    expect(answer.severities).toEqual({ 'profile-key-ignored': 'advice' });
    expect(answer.stdout).toContain(
      'profile cloud: its sessions are pods, and limits.pids applies',
    );
  });

  it('a profile adds capabilities and devices that reach beyond the session', async () => {
    const adds = 'devices: [/dev/fuse, /dev/kvm], capabilities: {add: [SYS_PTRACE, BPF, NET_RAW]}';
    const profile = `image: registry.invalid/site:1\npodman: {${adds}}\n`;
    const path = await forced.write('profiles/debug.yml', profile);
    const answer = await forced.lint(example);
    await rm(path);
    expect(answer.severities).toEqual({ 'profile-reaches-far': 'advice' });
    expect(answer.stdout.match(/profile debug adds .*/g)).toEqual([
      expect.stringContaining('SYS_PTRACE: each of its sessions may read and change every process'),
      expect.stringContaining('BPF, which has no effect in containers of users'),
      expect.stringContaining('/dev/fuse: each of its sessions may mount file systems'),
    ]);
  });

  it("a profile for pods never uses the host's network", async () => {
    const profile = 'image: registry.invalid/site:1\nnetwork: host\n';
    const path = await forced.write('profiles/cloud.yml', `${profile}backend: pod\n`);
    const answer = await forced.lint(example);
    await rm(path);
    expect(answer.severities).toEqual({ 'tcp-forwarding': 'weakness' });
    expect(answer.stdout).toContain('to keep it, write `# berth-accepts: tcp-forwarding`');
  });

  it('users can write to sshd_config, or to a file that it includes', async () => {
    const included = await forced.write('more.d/10-x11.conf', 'X11Forwarding no\n', 0o666);
    const answer = await forced.lint(`Include ${forced.path('more.d')}/*.conf\n${example}`);
    await chmod(included, 0o644);
    expect(answer.severities).toEqual({ 'sshd-config-writable': 'critical' });
  });

  it('an included file removes the forced command', async () => {
    await forced.write('inc.d/50.conf', 'Match User ann\n  ForceCommand none\n');
    const answer = await forced.lint(`Include ${forced.path('inc.d')}/*.conf\n${example}`);
    expect(answer.severities).toEqual({ 'no-forced-command': 'critical' });
  });

  it('the line in PAM is missing, or lets users set the environment', async () => {
    const codes = async (text: string) => {
      await forced.write('etc/pam.d/sshd', text);
      return (await forced.lint(example)).severities;
    };
    expect(await codes(forced.pam('', ''))).toEqual({ 'pam-session-missing': 'weakness' });
    expect(await codes(forced.pam('session required pam_env.so user_readenv=1'))).toEqual({
      'pam-user-environment': 'critical',
    });
    await forced.write('etc/pam.d/common', 'auth required pam_env.so user_readenv=1\n');
    expect(await codes(forced.pam('@include common'))).toEqual({
      'pam-user-environment': 'critical',
    });
    expect(await codes(forced.pam('auth include common'))).toEqual({
      'pam-user-environment': 'critical',
    });
    expect(await codes(forced.pam('@include nowhere'))).toEqual({ 'pam-unreadable': 'weakness' });
    expect(await codes(forced.pam(`# ${forced.sessionLine}`, ''))).toEqual({
      'pam-session-missing': 'weakness',
    });
    expect(await codes(forced.pam('session optional pam_loginuid.so'))).toEqual({
      'pam-session-early': 'weakness',
    });
    expect(await codes(forced.pam(''))).toEqual({});
  });
});
