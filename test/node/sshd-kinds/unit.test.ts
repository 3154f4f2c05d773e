import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { UnitHost } from './unit-host.ts';

describe('berth-sshd@.service with a configuration of `berth sshd new`', () => {
  let host: UnitHost;
  let port: number;

  beforeAll(async () => {
    const ports = await freePorts(['port', 'own']);
    port = ports.port;
    host = await UnitHost.boot(ports.own);
  });
  afterAll(() => host.stop());

  const codes = async (): Promise<string[]> => {
    const { stdout } = await host.berth('sshd list');
    return Array.from(stdout.toString().matchAll(/^\S+: .* \[(\S+)\]$/gm), ([, code = '']) => code);
  };
  /** Whether the connection of before still takes commands; 255 would be ssh's own error. */
  const again = async (): Promise<string> =>
    (await host.shell(`${host.ssh(port)} -S /run/ada.sock true; echo $?`)).stdout.toString();

  it('starts after a boot on which no sshd ran, and accepts logins', async () => {
    const made = await host.berth(
      `sshd new podman --port ${port} --host-key /etc/ssh/host_key --accept shell-reads-home`,
    );
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    expect(made.stdout.toString()).toContain('systemctl enable --now berth-sshd@podman');
    expect(await codes()).toEqual(['unit-not-active', 'unit-not-enabled']);

    await host.shell(`
      sed -i 's|^UsePAM|AuthorizedKeysFile /etc/ssh/keys/%u\\nUsePAM|' /etc/ssh/berth/podman.conf
      systemctl start berth-sshd@podman`);
    expect(await codes()).toEqual(['unit-not-enabled']);
    await host.shell(`${host.ssh(port)} -M -S /run/ada.sock -N -f </dev/null >/dev/null 2>&1`);
    expect(await again()).not.toContain('255');
  });

  it('says that sshd has not read a change, until it is reloaded', async () => {
    await host.shell('echo "# a change" >>/etc/ssh/berth/podman.conf');
    expect(await codes()).toEqual(['settings-not-loaded', 'unit-not-enabled'].reverse());
    await host.shell('systemctl reload berth-sshd@podman');
    await expect.poll(codes).toEqual(['unit-not-enabled']);
    expect(await again()).not.toContain('255');
  });

  it('does not reload a file that sshd refuses', async () => {
    await host.shell('echo Nonsense >>/etc/ssh/berth/podman.conf');
    const { exitCode } = await host.shell('systemctl reload berth-sshd@podman');
    expect(exitCode).not.toBe(0);
    await host.shell("sed -i '$d' /etc/ssh/berth/podman.conf; systemctl reload berth-sshd@podman");
    await expect.poll(codes).toEqual(['unit-not-enabled']);
  });

  it('keeps open connections when it is restarted and while the node is drained', async () => {
    await host.shell('systemctl restart berth-sshd@podman');
    expect(await again()).not.toContain('255');

    await host.shell(
      'mkdir -p /etc/berth; touch /etc/berth/drain; systemctl stop berth-sshd@podman',
    );
    await host.shell('systemctl start berth-sshd@podman');
    const { stdout } = await host.shell('systemctl is-active berth-sshd@podman || true');
    expect(stdout.toString().trim()).toBe('inactive');
    expect(await codes()).toEqual(['unit-not-enabled']);
    expect(await again()).not.toContain('255');
    expect((await host.shell(host.ssh(port))).exitCode).toBe(255);

    await host.shell('rm /etc/berth/drain; systemctl start berth-sshd@podman');
    const fresh = await host.shell(`${host.ssh(port)} true; echo $?`);
    expect(fresh.stdout.toString()).not.toContain('255');
  });

  it("`berth doctor` says that the host's own sshd has not read a change, until it is reloaded", async () => {
    const ofSshd = async (): Promise<string[]> => {
      const { stdout } = await host.berth('doctor -o json');
      const { checks } = berthDocument(stdout.toString()) as {
        checks: { id: string; message: string; next?: string }[];
      };
      return checks
        .filter(({ id, message }) => id === 'sshd' && message.includes('/etc/ssh/sshd_config'))
        .map(({ message, next = '' }) => `${message}; ${next}`);
    };
    await host.shell(`mkdir -p /etc/berth/profiles; echo 'rules: [{ profile: base }]' >/etc/berth/ssh.yml
      echo 'image: localhost/berth-site:1' >/etc/berth/profiles/base.yml
      systemctl start ssh`);
    expect(await ofSshd()).toEqual([expect.not.stringContaining('before the last change')]);
    await host.shell("echo '# a change' >>/etc/ssh/sshd_config");
    expect(await ofSshd()).toEqual([
      expect.stringMatching(
        /contents that \/etc\/ssh\/sshd_config had.*systemctl reload ssh\.service/,
      ),
    ]);
    await host.shell('systemctl reload ssh');
    await expect.poll(ofSshd).toEqual([expect.not.stringContaining('before the last change')]);
  });
});
