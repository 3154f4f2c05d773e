import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import type { SshdFinding } from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';

/* A real directory service that does not enumerate, like most. */
const directory = {
  groups: { 'site staff': 61000, project: 61001, 'hpc linux users': 61002 },
  users: {
    lena: {
      uid: 60001,
      groups: ['site staff', 'project', 'hpc linux users'] as const,
      // No account of the machine has it, so lena is not counted as similar to another one.
      shell: '/bin/rbash',
    },
  },
} as const;

let host: SshHost;

beforeAll(async () => {
  host = await SshHost.start({ mode: 'plain', users: {}, ldap: directory });
  await root('echo nss_disable_enumeration yes >> /etc/nslcd.conf');
  const pid = '"$(cat /run/nslcd/nslcd.pid)"';
  await root(`kill ${pid}; while kill -0 ${pid} 2>/dev/null; do sleep 0.05; done; /usr/sbin/nslcd`);
  await waitFor({ what: 'nslcd to answer', timeoutMs: 60_000, everyMs: 50 }, async () =>
    (await host.asRoot(['getent', 'passwd', 'lena'])).exitCode === 0 ? true : undefined,
  );
});
afterAll(() => host.stop());

async function root(script: string): Promise<void> {
  const { exitCode, stderr } = await host.asRoot(['sh', '-c', script]);
  if (exitCode !== 0) throw new Error(`${script}: ${stderr}`);
}

/** The linter's answer for the example with these lines instead of AllowGroups. */
async function lint(lines: string) {
  const example = new URL('../../../etc/sshd/forced-command.conf', import.meta.url);
  const login = `${installDirectory}/shell/login`;
  const text = (await readFile(example, 'utf8'))
    .replace('AllowGroups berth', lines)
    .replaceAll('/usr/lib/berth/shell/login', login);
  const input = `HostKey /etc/ssh/host_key\n${text}`;
  await host.asRoot(['tee', '/etc/ssh/sshd_config.new'], { input });
  const { exitCode, stdout, stderr } = await host.asRoot([
    ...[`${installDirectory}/berth`, 'sshd', 'lint', '--login', login, '-o', 'json'],
    ...['--sshd-config', '/etc/ssh/sshd_config.new'],
  ]);
  if (stdout.length === 0) throw new Error(stderr);
  const report = berthDocument(stdout.toString()) as {
    samples: readonly { user: string; findings: readonly SshdFinding[] }[];
    host: readonly SshdFinding[];
  };
  const ofLena = report.samples.filter(({ user }) => user === 'lena');
  return {
    exitCode,
    lena: ofLena.flatMap(({ findings }) => findings.map(({ code }) => code)),
    unlisted: report.host.filter(({ code }) => code === 'accounts-not-evaluated'),
  };
}

it.each(['AllowUsers lena', 'AllowUsers lena@192.0.2.*', 'AllowUsers lena\nAllowGroups project'])(
  '%s: an account that getent does not enumerate is linted, with its shell',
  async (lines) => {
    expect((await host.asRoot(['getent', 'passwd'])).stdout.toString()).not.toContain('lena');
    const { lena, unlisted } = await lint(lines);
    expect(lena).toContain('shell-reads-home');
    expect(unlisted).toEqual([]);
  },
);

it('members of a group whose name has blanks are linted', async () => {
  expect((await lint('AllowGroups "hpc linux users"')).lena).toContain('shell-reads-home');
});

it('an account that getent does not enumerate is linted with its groups', async () => {
  for (const group of ['*ject', '"site staff"', '= project']) {
    const blocks = `Match Group ${group}\n  ForceCommand none\nMatch all`;
    expect((await lint(`AllowUsers lena\n${blocks}`)).lena).toContain('no-forced-command');
  }
});

it.each([
  ['AllowGroups "site staff"', 'AllowGroups "site staff"'],
  ['AllowGroups hpc?linux?users', 'AllowGroups "hpc?linux?users"'],
  ['AllowUsers root\nAllowUsers l*', 'AllowUsers "l*"'],
  ['DenyGroups project', 'sshd admits every account'],
  ['', 'sshd admits every account'],
])('%j admits accounts that nobody lists, and the linter says so', async (lines, message) => {
  const { exitCode, unlisted } = await lint(lines);
  expect(unlisted).toMatchObject([{ severity: 'advice' }]);
  expect(unlisted[0]?.message).toContain(message);
  expect(unlisted[0]?.message).toContain('ldap');
  expect(exitCode).toBe(1);
});

it.each(['AllowGroups nobody-has-it', 'AllowUsers root\nAllowGroups *'])(
  '%j admits no account that nobody lists',
  async (lines) => {
    expect((await lint(lines)).unlisted).toEqual([]);
  },
);

it('members of groups that PAM admits are linted', async () => {
  await root('cp /etc/pam.d/sshd /etc/pam.d/sshd.before');
  await root(`sed -i '1i account required pam_access.so accessfile=/etc/list' /etc/pam.d/sshd`);
  await root(`echo '+ : (project) : ALL' > /etc/list`);
  expect((await lint('')).lena).toContain('shell-reads-home');
  await root('mv /etc/pam.d/sshd.before /etc/pam.d/sshd');
  expect((await lint('')).lena).toEqual([]);
});
