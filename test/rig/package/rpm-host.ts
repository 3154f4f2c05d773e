import { SystemdHost } from '../systemd/systemd-host.ts';
import type { ClientResult } from '../login-node/run-program.ts';

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

  /** The calls of SELinux's programs, one in a line. */
  selinuxCalls(): Promise<string> {
    return this.#host.script('cat /root/selinux');
  }

  stop(): Promise<void> {
    return this.#host.stop();
  }
}
