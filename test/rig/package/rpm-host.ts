import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { savedBusybox, savedBusyboxName } from '../login-node/image-archives.ts';
import { type ClientResult, run } from '../../../src/companions/verify/run-client.ts';
import { SystemdHost } from '../systemd/systemd-host.ts';

/** The machine's kernel has no SELinux, so these programs only write what they are asked. */
const selinuxTools = `
  mkdir -p /etc/selinux; echo SELINUXTYPE=targeted >/etc/selinux/config
  for name in semodule selinuxenabled load_policy restorecon; do
    printf '#!/bin/sh\\necho "\${0##*/}" "$@" >>/root/selinux\\n' >/usr/sbin/$name
    chmod +x /usr/sbin/$name
  done`;

/** A Debian host on which packages are installed with rpm(8), with stand-ins for the programs of SELinux. */
export class RpmHost {
  readonly #host: SystemdHost;

  private constructor(host: SystemdHost) {
    this.#host = host;
  }

  /** Boots the host. @param address below 127.0.0.0/8, which only this host uses */
  static async boot(address: string, adminPort: number): Promise<RpmHost> {
    const host = await SystemdHost.boot({ name: 'rpm', address, adminPort, adminKey: '' });
    await host.script(selinuxTools);
    return new RpmHost(host);
  }

  /** Runs rpm. What the packages need does not come from .rpm files on this host. */
  rpm(...args: readonly string[]): Promise<ClientResult> {
    return this.asRoot(['rpm', '--force-debian', '--nodeps', ...args]);
  }

  /** Runs a command as root. */
  asRoot(argv: readonly string[]): Promise<ClientResult> {
    return this.#host.asRoot(argv, { timeout: 120_000 });
  }

  /** Runs a shell script as root. @returns its output @throws Error with its output if it fails */
  script(text: string): Promise<string> {
    return this.#host.script(text);
  }

  /**
   * Makes the account alice and sets up its sessions with `berth init login-node`.
   *
   * @param directory a directory that all hosts see
   * @returns what a command in alice's first session printed, or ssh's error
   */
  async firstSession(directory: string, port: number): Promise<string> {
    const [key, archive] = [join(directory, 'rpm-key'), join(directory, 'rpm-image.tar')];
    await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    await copyFile(await savedBusybox(), archive);
    // Doctor misses the image, which is not on a registry: accounts keep their shells until init runs again.
    await this.script(`
      ssh-keygen -A
      useradd --create-home --shell /bin/bash alice
      install -d -m 0700 -o alice ~alice/.ssh
      install -m 0600 -o alice ${key}.pub ~alice/.ssh/authorized_keys
      init='berth init login-node --yes --user alice --port ${port} --pull no'
      $init --image ${savedBusyboxName} >&2 || [ $? = 1 ]
      berth images pull --yes --from-archive ${archive} >&2
      $init >&2`);
    const { stdout, stderr } = await run('ssh', [
      ...['-F', '/dev/null', '-i', key, '-o', 'BatchMode=yes', '-o', 'LogLevel=ERROR'],
      ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
      ...['-p', String(port), `alice@${this.#host.address}`, 'id -un; cat /proc/1/comm'],
    ]);
    return stdout.toString() + stderr;
  }

  /** Goes back as the last lines of `berth init` say. */
  async undoFirstSession(): Promise<void> {
    await this.script(`
      systemctl disable --now berth-sshd@login
      usermod --shell /bin/bash alice
      cp -p /root/pam.d-sshd.before-berth /etc/pam.d/sshd
      rm /etc/ssh/berth/login.conf
      berth reap --unused >&2`);
  }

  /** The calls of SELinux's programs, one in a line. */
  selinuxCalls(): Promise<string> {
    return this.#host.script('cat /root/selinux');
  }

  stop(): Promise<void> {
    return this.#host.stop();
  }
}
