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

  const archive = (): string => join(host.directory, 'image.tar');
  const init = (...more: string[]) =>
    host.asRoot(
      [
        ...[join(installDirectory, 'berth'), 'init', 'login-node', '--yes', '--user', 'alice'],
        ...['--port', String(port), '--from-archive', archive(), ...more],
      ],
      { timeout: 120_000 },
    );

  it(
    'loads the image from an archive, listens on one address, and ends with a session',
    { timeout: 120_000 },
    async () => {
      const made = await init('--address', address);
      const output = made.stdout.toString();
      expect(output).toContain(`+image: ${savedBusyboxName}`);
      // The timer would pull from a registry every night.
      const units = 'berth-sshd@login.service berth-reap.timer';
      expect(output).toContain(`$ systemctl enable --now ${units}\n`);
      expect(output).toMatch(/session-start\s+a test session of alice with profile minimal took /);
      expect(await host.script('ls -A /var/lib/systemd/linger 2>/dev/null || true')).toBe('');
      expect(output).toContain(`next: go back: systemctl disable --now ${units}\n`);
      expect(output).toContain(`next: try it: ssh -p ${port} alice@${address}\n`);
      expect(
        await host.script('systemctl is-active berth-sshd@login.service berth-reap.timer'),
        output + made.stderr,
      ).toBe('active\nactive\n');
      expect(await host.script(`ss -Hltn 'sport = :${port}'`)).toMatch(
        new RegExp(`^LISTEN .* ${address}:${port} .*\n$`),
      );
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
    },
  );

  it('changes nothing the second time, also with other options of the same meaning', async () => {
    for (const more of [[], ['--image', savedBusyboxName, '--address', address]]) {
      const again = await init(...more);
      expect(again.stdout.toString()).toContain('nothing to change');
      expect(again.exitCode, again.stdout.toString() + again.stderr).toBe(0);
    }
  });

  it('loads an archive again that has another image, and listens on all addresses if asked', async () => {
    await host.script(`cd ${host.directory}; mkdir other; tar -xf image.tar -C other
      config=$(cd other; ls *.json | grep -v manifest); sed -i 's/"created":"2/"created":"1/' other/$config
      id=$(sha256sum <other/$config | cut -c 1-64); mv other/$config other/$id.json
      sed -i "s/$config/$id.json/" other/manifest.json; tar -cf image.tar -C other .`);
    const { stdout, stderr, exitCode } = await init('--address', 'all');
    expect(stdout.toString(), stderr).toContain(
      `$ berth images pull --from-archive ${archive()}\n`,
    );
    expect(stdout.toString()).toContain('login.conf: changed');
    expect(exitCode, stdout.toString() + stderr).toBe(0);
    expect((await init()).stdout.toString()).toContain('nothing to change');
  });

  it('refuses before anything is changed what is no archive, and an address of another host', async () => {
    const foreign = await init('--address', '203.0.113.7');
    expect(foreign.stderr).toContain('--address 203.0.113.7: is not an address of this host');
    await host.script(`tar -cf ${archive()} /etc/hostname`);
    const broken = await init();
    expect(broken.stderr).toContain(`archive ${archive()} cannot be read: `);
    expect(broken.stderr).toContain('[archive-unreadable]');
    expect([broken.exitCode, foreign.exitCode]).toEqual([69, 64]);
  });
});
