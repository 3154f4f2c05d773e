import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { motd } from '../../rig/login-node/host-files.ts';

describe('the login node of the tests', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({ mode: 'plain', users: { ada: ['physics'], bob: [] } });
  });
  afterAll(() => host.stop());

  it('accepts its users over SSH, with their groups and an empty home', async () => {
    const { exitCode, stdout } = await host.ssh('ada', ['id -un; id -Gn; ls; echo x > left']);
    expect({ exitCode, stdout: stdout.toString() }).toEqual({
      ...{ exitCode: 0, stdout: 'ada\nada physics\n' },
    });
    const { stdout: seen } = await host.asRoot(['cat', `${host.account('ada').home}/left`]);
    expect(seen.toString()).toBe('x\n');
  });

  it('gives an interactive shell a terminal, and the message of the day', async () => {
    const { stdout } = await host.ssh('ada', ['-tt'], { input: 'tty; exit\n' });
    expect(stdout.toString()).toContain('/dev/pts/0');
    expect(stdout.toString()).toContain(motd.trim());
  });

  it('has a syslog', async () => {
    await host.asUser('bob', ['logger', '-t', 'trial', 'seen']);
    await expect.poll(() => host.log()).toMatch(/ trial: seen\n/);
    expect(await host.log()).toMatch(/sshd\[\d+\]: Accepted publickey for ada/);
  });

  it('runs rootless containers as its users, from the shared images', async () => {
    const store = [
      'additionalimagestore=/var/lib/berth-ssh/images',
      'mount_program=/usr/bin/fuse-overlayfs',
    ];
    const { stdout, stderr } = await host.asUser('ada', [
      ...[
        'podman',
        '--storage-driver',
        'overlay',
        ...store.flatMap((option) => ['--storage-opt', option]),
      ],
      ...['--runtime', 'crun', '--cgroup-manager', 'cgroupfs'],
      ...[
        'run',
        '--rm',
        '--userns',
        'keep-id',
        '--network',
        'host',
        'localhost/berth-site:1',
        'id',
        '-u',
      ],
    ]);
    expect(`${stdout.toString()}${stderr}`).toContain(`${host.account('ada').uid}\n`);
  });

  it('ends with everything on it', async () => {
    const other = await SshHost.start({ mode: 'plain', users: { ada: [] } });
    await other.asUser('ada', ['sh', '-c', 'setsid sleep 4242 >&- 2>&- &']);
    const { init } = other;
    expect((await other.asRoot(['pgrep', '-f', 'sleep 4242'])).exitCode).toBe(0);
    await other.stop();
    await expect(other.asRoot(['true'])).resolves.toMatchObject({ exitCode: 1 });
    expect(() => process.kill(init, 0)).toThrow('ESRCH');
  });
});
