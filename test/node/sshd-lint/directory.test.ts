import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import type { SshdFinding } from '../../../src/sshd-lint/rules/sshd-finding.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/site/wait.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';

/* A real directory service that does not enumerate, like most. */
const directory = {
  groups: { 'site-staff': 61000, project: 61001 },
  users: { lena: { uid: 60001, groups: ['site-staff', 'project'] as const } },
} as const;

let host: SshHost;

beforeAll(async () => {
  host = await SshHost.start({ mode: 'plain', users: {}, ldap: directory });
  await root('echo nss_disable_enumeration yes >> /etc/nslcd.conf');
  const pid = '"$(cat /run/nslcd/nslcd.pid)"';
  await root(`kill ${pid}; while kill -0 ${pid} 2>/dev/null; do sleep 0.05; done; /usr/sbin/nslcd`);
  await waitFor({ what: 'nslcd to answer', timeoutMs: 20_000, everyMs: 50 }, async () =>
    (await host.asRoot(['getent', 'passwd', 'lena'])).exitCode === 0 ? true : undefined,
  );
});
afterAll(() => host.stop());

async function root(script: string): Promise<void> {
  const { exitCode, stderr } = await host.asRoot(['sh', '-c', script]);
  if (exitCode !== 0) throw new Error(`${script}: ${stderr}`);
}

/** Findings for `lena`, with the example and these lines instead of AllowGroups. */
async function findingsOf(user: string, lines: string): Promise<readonly SshdFinding[]> {
  const example = new URL('../../../etc/sshd/forced-command.conf', import.meta.url);
  const login = `${installDirectory}/shell/login`;
  const text = (await readFile(example, 'utf8'))
    .replace('AllowGroups berth', lines)
    .replaceAll('/usr/lib/berth/shell/login', login);
  const input = `HostKey /etc/ssh/host_key\n${text}`;
  await host.asRoot(['tee', '/etc/ssh/sshd_config.new'], { input });
  const { stdout, stderr } = await host.asRoot([
    ...[`${installDirectory}/berth`, 'lint', 'sshd', '--login', login, '-o', 'json'],
    ...['--config', '/etc/ssh/sshd_config.new'],
  ]);
  if (stdout.length === 0) throw new Error(stderr);
  const { samples } = berthDocument(stdout.toString()) as {
    samples: readonly { user: string; findings: readonly SshdFinding[] }[];
  };
  return samples.filter((one) => one.user === user).flatMap(({ findings }) => findings);
}

it.each(['AllowUsers lena', 'AllowUsers lena@192.0.2.*', 'AllowGroups project'])(
  '%s: an account that getent does not enumerate is linted, with its shell',
  async (line) => {
    expect((await host.asRoot(['getent', 'passwd'])).stdout.toString()).not.toContain('lena');
    const found = await findingsOf('lena', line);
    expect(found.map(({ code }) => code)).toContain('shell-reads-home');
  },
);

it('an account that getent does not enumerate is linted with its groups', async () => {
  const blocks = 'Match Group *ject\n  ForceCommand none\nMatch all';
  const found = await findingsOf('lena', `AllowUsers lena\n${blocks}`);
  expect(found.map(({ code }) => code)).toContain('no-forced-command');
});
