import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';

const repository = new URL('../../..', import.meta.url).pathname;
const commandsOf = (page: string): string[] =>
  codeBlocks(page)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.trim().split('\n'));
const commands = commandsOf('docs/getting-started-login-node.md');
const removal = commandsOf('docs/upgrade.md');

/** Commands for what the test machine has already, or what needs a booted systemd or a registry. */
const elsewhere: readonly RegExp[] = [
  /^apt-get /,
  /^ln -sf /,
  /^npm /,
  // test/images pulls from a real registry; here the shared store exists.
  /^berth images (?:pull|files)$/,
  // In test/site/cli/units.test.ts systemd verifies them.
  /^systemctl /,
  /etc\/systemd\//,
];

describe('the commands of the README', () => {
  let host: SshHost;
  const hostsOwn = ['/etc/ssh/sshd_config', '/etc/ssh/sshd_config.d'];

  beforeAll(async () => {
    host = await SshHost.start({ mode: 'plain', pam: '', users: { alice: [], bob: [] } });
    await host.asRoot(['sh', '-c', 'rm -rf /etc/berth/* /etc/subuid /etc/subgid']);
    // Debian's default, which the linter reports: the README must remove it.
    await host.asRoot(['usermod', '--shell', '/bin/bash', 'alice']);
    // As after a boot without systemd.
    await host.asRoot(['rmdir', '/run/sshd']);
  });
  afterAll(() => host.stop());

  /** Runs a line of the README in the checkout; Berth is installed where the tests have it. */
  const typed = (line: string) => {
    const there = line
      .replaceAll('/usr/lib/berth', installDirectory)
      .replace(/^berth /, `${installDirectory}/berth `);
    const adapted = there.includes('sshd lint')
      ? `${there} --login ${installDirectory}/shell/login`
      : there;
    return host.asRoot(['bash', '-euc', `cd ${repository}; ${adapted}`], { timeout: 120_000 });
  };
  const digest = async (): Promise<string> =>
    (await host.asRoot(['tar', '-C', '/', '-cf', '-', ...hostsOwn])).stdout.toString('base64');

  it(
    "end with a session, and leave the host's own sshd unchanged",
    { timeout: 240_000 },
    async () => {
      const before = await digest();
      const here = commands.filter((line) => !elsewhere.some((pattern) => pattern.test(line)));
      expect(here.length).toBeGreaterThan(12);
      for (const line of here) {
        const { exitCode, stderr, stdout } = await typed(line);
        expect(exitCode, `${line}\n${stdout.toString()}${stderr}`).toBe(0);
        if (line.includes('/etc/berth/ssh.yml')) await useTestImage();
        if (/berth-session|etc\/sshd/.test(line)) await makePathsTheTests();
      }
      const { port } = await freePorts(['port']);
      await startSshd(port);

      const { stdout, stderr } = await run('ssh', [
        ...[...host.clientOptions('alice'), '-o', 'StrictHostKeyChecking=no'],
        ...['-p', String(port), 'alice@127.0.0.1', 'id -un; cat /proc/1/comm'],
      ]);
      expect(stdout.toString(), stderr + (await host.log())).toBe('alice\npodman-init\n');
      expect(await digest()).toBe(before);
    },
  );

  it('can be run twice: PAM has the lines once', async () => {
    const lines = commands.filter((line) => /pam\.d|user_readenv/.test(line));
    expect(lines.length).toBeGreaterThan(2);
    const pam = async () => (await host.asRoot(['cat', '/etc/pam.d/sshd'])).stdout.toString();
    const before = await pam();
    for (const line of lines) expect((await typed(line)).exitCode, line).toBe(0);

    expect(await pam()).toBe(before);
    expect(before.match(/hooks\/pam-session open/g)).toHaveLength(1);
  });

  it('can be undone: the host has no trace in PAM, and each account its former shell', async () => {
    // As after `berth init login-node --user alice`.
    await typed('echo alice:/bin/sh >/etc/berth/former-shells');
    await typed('usermod --shell /usr/lib/berth/shell/login bob');
    const here = removal.filter((line) => !elsewhere.some((pattern) => pattern.test(line)));
    expect(here.length).toBeGreaterThan(4);
    for (const line of here) {
      const { exitCode, stderr } = await typed(line);
      expect(exitCode, `${line}\n${stderr}`).toBe(0);
    }
    const { stdout } = await host.asRoot(['grep', '-rl', 'berth', '/etc/pam.d', '/etc/security']);
    expect(stdout.toString()).toBe('');

    const session = await host.ssh('alice', [
      'id -un; echo $0; test -e /run/.containerenv || echo host',
    ]);
    expect(session.stdout.toString(), session.stderr + (await host.log())).toBe(
      'alice\nsh\nhost\n',
    );
    const { stdout: bob } = await host.asRoot(['getent', 'passwd', 'bob']);
    expect(bob.toString()).toMatch(/:\/bin\/bash\n$/);
  });

  async function useTestImage(): Promise<void> {
    const profile = '/etc/berth/profiles/minimal.yml';
    await host.asRoot(['sed', '-i', 's#^image:.*#image: localhost/berth-site:1#', profile]);
    // What the README says for machines without systemd.
    const podman = 'podman: { cgroup_manager: cgroupfs }';
    await host.asRoot(['sh', '-c', `echo '${podman}' >> /etc/berth/ssh.yml`]);
  }

  async function makePathsTheTests(): Promise<void> {
    const files = '/etc/ssh/berth/*.conf /etc/pam.d/sshd';
    await host.asRoot(['sh', '-c', `sed -i 's#/usr/lib/berth#${installDirectory}#g' ${files}`]);
  }

  /** Like the unit, with a port and keys of the test. */
  async function startSshd(port: number): Promise<void> {
    const unit = await readFile(`${repository}/etc/systemd/berth-sshd@.service`, 'utf8');
    const [, start = ''] = /^ExecStart=(.*) -D (?=-f)/m.exec(unit) ?? [];
    const options = [
      '-f',
      '/etc/ssh/berth/login.conf',
      '-p',
      String(port),
      '-h',
      '/etc/ssh/host_key',
    ];
    const keys = 'AuthorizedKeysFile=/etc/ssh/authorized_keys/%u';
    const { exitCode, stderr } = await host.asRoot([
      ...[start, ...options, '-o', keys, '-o', 'ListenAddress=127.0.0.1'],
    ]);
    expect(exitCode, stderr).toBe(0);
  }

  it('are found in the README', () => {
    expect(commands.length).toBeGreaterThan(15);
  });
});
