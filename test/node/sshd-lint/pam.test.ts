import { chmod, chown, copyFile, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SshdFindingCode } from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';
import { LintHost } from './lint-host.ts';
import { LintSshd } from './lint-sshd.ts';

/* Each stack is linted, and a real sshd with the real PAM shows when pam-session runs. */
let host: LintHost;
let sshd: LintSshd;

beforeAll(async () => {
  host = await LintHost.make([{ name: 'ann', shell: '/bin/sh', groups: ['berth'] }]);
  sshd = await LintSshd.start(host, await host.example('forced-command'));
});
afterEach(async () => {
  await host.cleanHomes();
  for (const file of ['early', 'hook']) await rm(host.path(`etc/pam.d/${file}`), { force: true });
});
afterAll(async () => {
  await sshd.stop();
  await host.remove();
});

const lint = async () => host.lint(await host.example('forced-command'));

interface Stack {
  readonly what: string;
  /** `HOOK` stands for the path of pam-session. */
  readonly session: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly codes: readonly SshdFindingCode[];
  readonly runs: readonly string[];
}

const exec = 'session optional pam_exec.so quiet';
const both = ['open_session', 'close_session'];
const hook = `${exec} HOOK`;
const mistyped = ['pam-line-mistyped', 'pam-session-missing'] as const;
const early = { early: 'session sufficient pam_permit.so\n' };

const stacks: readonly Stack[] = [
  ...[
    { what: 'one line for both', session: hook },
    {
      what: 'a line for each',
      session: `${exec} type=open_session HOOK open\n${exec} type=close_session HOOK close`,
    },
    { what: 'a continued line', session: 'session optional \\\n pam_exec.so HOOK' },
    { what: '@include', session: '@include hook', files: { hook } },
    {
      what: 'include in a session line',
      session: 'auth include hook\naccount include hook\nsession include hook',
      files: { hook: `auth sufficient pam_permit.so\naccount sufficient pam_permit.so\n${hook}` },
    },
    {
      what: 'after a substack that ends',
      session: `session substack early\n${hook}`,
      files: early,
    },
    {
      what: "after Debian's jump over pam_deny",
      session: `session [default=1] pam_permit.so\nsession requisite pam_deny.so\n${hook}`,
    },
    {
      what: 'after a module that checks the user',
      session: `session [success=1 default=ignore] pam_succeed_if.so quiet uid < 1000\n${hook}`,
    },
    {
      what: 'after an optional module that does not exist',
      session: `-session optional pam_nowhere.so\n${hook}`,
    },
    {
      what: 'after a line that ends the stack for other users',
      session: `session sufficient pam_succeed_if.so quiet user = root\n${hook}`,
    },
  ].map((stack) => ({ ...stack, codes: [], runs: both })),

  ...[
    { what: 'sufficient', session: `session sufficient pam_permit.so\n${hook}` },
    { what: 'done', session: `session [success=done default=ignore] pam_permit.so\n${hook}` },
    { what: 'a jump', session: `session [success=1 default=ignore] pam_permit.so\n${hook}` },
    {
      what: 'a jump over a substack',
      session: `session [success=1 default=ignore] pam_permit.so\nsession substack hook`,
      files: { hook: `session required pam_permit.so\n${hook}` },
    },
    {
      what: 'an included line that ends the stack',
      session: `session include early\n${hook}`,
      files: early,
    },
    {
      what: 'a line in an @include that ends the stack',
      session: `@include early\n${hook}`,
      files: early,
    },
    {
      what: 'a line before it in the same included file that ends the stack',
      session: '@include hook',
      files: { hook: `session sufficient pam_permit.so\n${hook}` },
    },
    { what: 'a refusal', session: `session requisite pam_deny.so\n${hook}` },
  ].map((stack) => ({
    ...stack,
    what: `never reached: ${stack.what}`,
    codes: ['pam-session-unreached'] as const,
    runs: [],
  })),

  ...[
    ['the type', hook.replace('session', 'sesion')],
    ['the module', hook.replace('pam_exec.so', 'pam_exce.so')],
    ['the path', `${exec} HOOK-on`],
    ['the program', `${exec} HOOK`.replace('HOOK', '/usr/lib/berth/hooks/pam-sesion')],
    ['a relative path', `${exec} pam-session`],
    ['no program', exec],
    ['the type of pam_exec', `${exec} type=open-session HOOK`],
    ['the word', `${exec} type=open_session HOOK close`],
    ['the control and the type', 'optional session pam_exec.so HOOK'],
    ['no control', 'session pam_exec.so HOOK'],
  ].map(([what = '', session = '']) => ({
    what: `mistyped: ${what}`,
    session,
    codes: mistyped,
    // pam_exec checks only its own type.
    runs: what === 'the word' ? ['open_session'] : [],
  })),
  {
    what: 'another stack',
    session: `account optional pam_exec.so quiet HOOK`,
    codes: mistyped,
    runs: ['account'],
  },
  {
    what: 'a missing module in another line',
    session: `${hook}\nsession optional pam_nowhere.so`,
    codes: ['pam-line-mistyped'],
    runs: both,
  },
  {
    what: 'a missing module that is required',
    session: `${hook}\n-session required pam_nowhere.so`,
    codes: ['pam-line-mistyped'],
    // No login succeeds.
    runs: ['open_session'],
  },
  {
    what: 'a missing file of pam_env in another line',
    session: `session required pam_env.so readenv=0 conffile=/etc/security/none.conf\n${hook}`,
    codes: ['pam-line-mistyped'],
    runs: both,
  },
  {
    what: 'no line for the close',
    session: `${exec} type=open_session HOOK open`,
    codes: ['pam-session-missing'],
    runs: ['open_session'],
  },
  {
    what: 'no line for the open',
    session: `${exec} type=close_session HOOK close`,
    codes: ['pam-session-missing'],
    runs: ['close_session'],
  },
];

describe('pam-session in the stack of sshd', () => {
  it.each(stacks)('$what: $codes', async ({ session, files = {}, codes, runs }) => {
    const withHook = (text: string) => text.replaceAll('HOOK', host.path('hooks/pam-session'));
    await host.write('etc/pam.d/sshd', host.pam('', withHook(session)));
    for (const [name, text] of Object.entries(files))
      await host.write(`etc/pam.d/${name}`, `${withHook(text)}\n`);
    expect((await lint()).codes).toEqual([...codes].sort());

    await host.allowKey('ann');
    await host.hookRuns();
    await sshd.ssh('ann', ['true']);
    await sshd.idle();
    expect(await host.hookRuns()).toEqual(runs);
  });

  it('a finding names the line, and the line that skips it', async () => {
    const lines = `session sufficient pam_permit.so\n${host.sessionLine}`;
    await host.write('etc/pam.d/sshd', host.pam('', lines));
    const { report } = await lint();
    expect(report?.host[0]?.message).toMatch(
      /^\/etc\/pam\.d\/sshd:5 never runs pam-session: \/etc\/pam\.d\/sshd:4 \(pam_permit\.so\)/,
    );
  });
});

describe('programs and files that PAM uses as root', () => {
  const codes = async (more: string) => {
    await host.write('etc/pam.d/sshd', host.pam(more));
    return (await lint()).severities;
  };
  const writable = { 'program-writable': 'critical' };

  it('users can write to a module', async () => {
    const module = host.path('etc/security/pam_own.so');
    await copyFile('/etc/hostname', module);
    expect(await codes('session optional /etc/security/pam_own.so')).toEqual({});
    await chmod(module, 0o666);
    expect(await codes('session optional /etc/security/pam_own.so')).toEqual(writable);
  });

  it('users can write to a program of pam_exec, or to its directory', async () => {
    const program = await host.write('etc/security/site/notify', '#!/bin/sh\n', 0o755);
    const line = 'auth optional pam_exec.so seteuid quiet log=/dev/null /etc/security/site/notify';
    expect(await codes(line)).toEqual({});
    await chmod(program, 0o775);
    expect(await codes(line)).toEqual(writable);
    await chmod(program, 0o755);
    await chown(host.path('etc/security/site'), host.userOf('ann').uid, 0);
    expect(await codes(line)).toEqual(writable);
  });

  it('users can write to an included file, or to a file of pam_env', async () => {
    const file = await host.write('etc/pam.d/early', 'session required pam_permit.so\n', 0o666);
    expect(await codes('@include early')).toEqual(writable);
    await chmod(file, 0o644);
    expect(await codes('@include early')).toEqual({});
    const env = await host.write('etc/security/site.conf', '', 0o666);
    const line = 'session required pam_env.so readenv=0 conffile=/etc/security/site.conf';
    expect(await codes(line)).toEqual(writable);
    await chmod(env, 0o644);
    expect(await codes(line)).toEqual({});
  });
});

describe('--pam', () => {
  it("a copy anywhere: its includes are the host's, and its owner is not checked", async () => {
    await host.write('etc/pam.d/hook', `${host.sessionLine}\n`);
    await host.write('etc/pam.d/sshd', host.pam('', ''));
    const copy = await host.writeInHome('ann', 'sshd', host.pam('', '@include hook'), 0o666);
    const text = await host.example('forced-command');
    expect((await host.lint(text, '--pam', copy)).severities).toEqual({});
    await host.writeInHome('ann', 'sshd', host.pam('', ''));
    expect((await host.lint(text, '--pam', copy)).codes).toEqual(['pam-session-missing']);
  });

  it("the host's own file: its owner is checked", async () => {
    const file = await host.write('etc/pam.d/sshd', host.pam(''));
    await chmod(file, 0o666);
    const answer = await host.lint(
      await host.example('forced-command'),
      '--pam',
      '/etc/pam.d/sshd',
    );
    await chmod(file, 0o644);
    expect(answer.severities).toEqual({ 'program-writable': 'critical' });
  });
});
