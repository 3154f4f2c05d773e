import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { savedBusybox, savedBusyboxName } from '../../rig/login-node/image-archives.ts';
import { run } from '../../rig/login-node/run-program.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/site/ports.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const address = '127.18.2.1';

describe('berth init login-node on a host with systemd', () => {
  let host: SystemdHost;
  let port: number;

  beforeAll(async () => {
    await ensurePackages([
      ...['openssh-server', 'podman', 'crun', 'uidmap', 'slirp4netns', 'catatonit'],
      'fuse-overlayfs',
    ]);
    const ports = await freePorts(['admin', 'sessions']);
    port = ports.sessions;
    const options = { name: 'initnode', address, adminPort: ports.admin, adminKey: '' };
    host = await SystemdHost.boot(options);
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(host.directory, 'key')]);
    await copyFile(await savedBusybox(), join(host.directory, 'image.tar'));
    await host.script(`ssh-keygen -A; useradd --create-home --shell /bin/bash alice
      install -d -o alice -m 0700 ~alice/.ssh
      install -o alice -m 0600 ${host.directory}/key.pub ~alice/.ssh/authorized_keys`);
  }, 120_000);
  afterAll(() => host.stop());

  const init = (...more: string[]) =>
    host.asRoot(
      [
        ...[join(installDirectory, 'berth'), 'init', 'login-node', '--yes', '--user', 'alice'],
        ...['--image', savedBusyboxName, '--port', String(port), '--pull', 'no', ...more],
      ],
      { timeout: 120_000 },
    );

  it('starts the sshd and the timers, and ends with a session', { timeout: 120_000 }, async () => {
    const made = await init();
    const berth = join(installDirectory, 'berth');
    expect(made.stdout.toString()).toContain('$ systemctl enable --now berth-sshd@login.service');
    expect(
      await host.script('systemctl is-active berth-sshd@login.service berth-reap.timer'),
      made.stdout.toString() + made.stderr,
    ).toBe('active\nactive\n');
    await host.script(`${berth} images pull --from-archive ${host.directory}/image.tar`);
    const { stdout, stderr } = await run('ssh', [
      ...['-F', '/dev/null', '-i', join(host.directory, 'key'), '-o', 'BatchMode=yes'],
      ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
      ...[
        '-o',
        'LogLevel=ERROR',
        '-p',
        String(port),
        `alice@${address}`,
        'id -un; cat /proc/1/comm',
      ],
    ]);
    expect(stdout.toString(), stderr).toMatch(/^alice\n(?:podman-init|catatonit)\n$/);
  });

  it('changes nothing the second time', async () => {
    const again = await init();
    expect(again.stdout.toString()).toContain('nothing to change');
    expect(again.exitCode, again.stdout.toString() + again.stderr).toBe(0);
  });
});
