import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SshHost } from '../../../rig/login-node/ssh-host.ts';

/**
 * Detects programs of a user that ran on the host: they leave their names in a directory that only the host has, because
 * no container sees a runtime directory.
 */
export class Canary {
  readonly #host: SshHost;
  readonly user: string;
  readonly directory: string;

  private constructor(host: SshHost, user: string) {
    this.#host = host;
    this.user = user;
    this.directory = `/run/user/${host.account(user).uid}/canary`;
  }

  static async of(host: SshHost, user: string): Promise<Canary> {
    const canary = new Canary(host, user);
    await host.asUser(user, ['mkdir', '-p', canary.directory]);
    return canary;
  }

  /** A shell command that leaves a name on the host and does nothing inside a container. */
  line(name: string): string {
    return `touch ${this.directory}/${name} 2>/dev/null`;
  }

  /** The names that were left since the last call. */
  async heard(): Promise<string[]> {
    const names = await readdir(this.#host.path(this.directory));
    if (names.length > 0)
      await this.#host.asRoot(['rm', '-rf', ...names.map((name) => join(this.directory, name))]);
    return names.sort();
  }

  /** Writes a file below the user's home, as the user. @returns Its path on the host. */
  async file(path: string, text: string, mode = 0o644): Promise<string> {
    const { home, uid, gid } = this.#host.account(this.user);
    const file = join(home, path);
    const seen = this.#host.path(file);
    await mkdir(dirname(seen), { recursive: true });
    await writeFile(seen, text, { mode });
    await this.#host.asRoot(['chmod', mode.toString(8), file]);
    await this.#host.asRoot(['chown', '-R', `${uid}:${gid}`, home]);
    return file;
  }

  /** A program of the user that leaves its name, then runs the host's program. */
  program(name: string, then = '/bin/false'): Promise<string> {
    const script = ['#!/bin/sh', this.line(name), `exec ${then} "$@"`, ''].join('\n');
    return this.file(`evil/${name}`, script, 0o755);
  }
}
