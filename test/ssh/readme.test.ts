import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks, pageText } from '../docs/markdown.ts';
import { installed } from '../site/portal.ts';
import { freePorts } from '../site/ports.ts';
import { run } from './host/client.ts';
import { SshHost } from './host/ssh-host.ts';

const repository = new URL('../..', import.meta.url).pathname;
const section =
  /## Install it on a login node\n([\s\S]*?)\n## /.exec(pageText('README.md'))?.[1] ?? '';
const commands = codeBlocks('README.md')
  .filter(({ language, text }) => language === 'sh' && section.includes(text))
  .flatMap(({ text }) => text.trim().split('\n'));

/** What the test machine has already, or what only a booted systemd and a registry can do. */
const elsewhere: readonly RegExp[] = [
  /^apt-get install /,
  /^npm /,
  // test/images pulls from a real registry; here the shared store is there.
  /\/berth images pull$/,
  /^systemctl /,
];

describe('the five minutes of the README', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({ mode: 'plain', pam: '', users: { alice: ['berth'] } });
    await host.inside(['sh', '-c', 'rm -rf /etc/berth/profiles/* /etc/subuid /etc/subgid']);
  });
  afterAll(() => host.stop());

  /** A line of the README, in the checkout; Berth is installed where the tests have it. */
  const typed = (line: string) => {
    const adapted = line.replaceAll('/usr/lib/berth', installed);
    return host.inside(['bash', '-euc', `cd ${repository}; ${adapted}`], { timeout: 120_000 });
  };

  it('end with a session', { timeout: 240_000 }, async () => {
    const [sshYml] = codeBlocks('README.md').filter(({ text }) => text.includes('/ssh.yml'));
    await host.inside(['tee', '/etc/berth/ssh.yml'], { input: sshYml?.text ?? '' });
    const here = commands.filter((line) => !elsewhere.some((pattern) => pattern.test(line)));
    expect(here.length).toBeGreaterThan(8);
    for (const line of here) {
      const { exitCode, stderr, stdout } = await typed(line);
      // bash reads ~/.bashrc before a forced command: the linter says so.
      const right = line.endsWith('lint sshd') ? [0, 1] : [0];
      expect(right, `${line}\n${stdout.toString()}${stderr}`).toContain(exitCode);
      if (line.includes('etc/berth/profiles')) await useTestImage();
      if (line.includes('/etc/ssh/sshd_config')) await makePathsTheTests();
    }
    const { port } = await freePorts(['port']);
    await startSshd(port);

    const { stdout, stderr } = await run('ssh', [
      ...[...host.clientOptions('alice'), '-o', 'StrictHostKeyChecking=no'],
      ...['-p', String(port), 'alice@127.0.0.1', 'id -un; cat /proc/1/comm'],
    ]);
    expect(stdout.toString(), stderr + (await host.log())).toBe('alice\npodman-init\n');
  });

  async function useTestImage(): Promise<void> {
    const profile = '/etc/berth/profiles/minimal.yml';
    await host.inside(['sed', '-i', 's#^image:.*#image: localhost/berth-site:1#', profile]);
    // The test machine has no systemd that delegates cgroups.
    const podman = 'podman: { cgroup_manager: cgroupfs }';
    await host.inside(['sh', '-c', `echo '${podman}' >> /etc/berth/ssh.yml`]);
  }

  async function makePathsTheTests(): Promise<void> {
    const files = '/etc/ssh/sshd_config /etc/pam.d/sshd';
    await host.inside(['sh', '-c', `sed -i 's#/usr/lib/berth#${installed}#g' ${files}`]);
  }

  async function startSshd(port: number): Promise<void> {
    const options = ['-f', '/etc/ssh/sshd_config', '-p', String(port), '-h', '/etc/ssh/host_key'];
    const keys = 'AuthorizedKeysFile=/etc/ssh/authorized_keys/%u';
    const { exitCode, stderr } = await host.inside([
      ...['/usr/sbin/sshd', ...options, '-o', keys, '-o', 'ListenAddress=127.0.0.1'],
    ]);
    expect(exitCode, stderr).toBe(0);
  }

  it('are more than a few lines', () => {
    expect(commands.length).toBeGreaterThan(10);
  });
});
