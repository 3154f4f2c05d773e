import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SshHost } from '../../../rig/node/ssh-host.ts';

/**
 * Tells what of a user's ran on the host: a folder that only the host has (no container sees a run
 * folder), and programs that leave their name there.
 */
export class Canary {
  readonly #host: SshHost;
  readonly user: string;
  readonly folder: string;

  private constructor(host: SshHost, user: string) {
    this.#host = host;
    this.user = user;
    this.folder = `/run/user/${host.account(user).uid}/canary`;
  }

  static async of(host: SshHost, user: string): Promise<Canary> {
    const canary = new Canary(host, user);
    await host.asUser(user, ['mkdir', '-p', canary.folder]);
    return canary;
  }

  /** Text of a shell script, or a line of one, that sings on the host and is silent inside. */
  line(name: string): string {
    return `touch ${this.folder}/${name} 2>/dev/null`;
  }

  /** What sang since the last time that somebody asked. */
  async heard(): Promise<string[]> {
    const names = await readdir(this.#host.path(this.folder));
    if (names.length > 0)
      await this.#host.inside(['rm', '-rf', ...names.map((name) => join(this.folder, name))]);
    return names.sort();
  }

  /** Writes a file of the user's, below the home, as the user could. @returns its path on the host */
  async file(path: string, text: string, mode = 0o644): Promise<string> {
    const { home, uid, gid } = this.#host.account(this.user);
    const file = join(home, path);
    const seen = this.#host.path(file);
    await mkdir(dirname(seen), { recursive: true });
    await writeFile(seen, text, { mode });
    await this.#host.inside(['chmod', mode.toString(8), file]);
    await this.#host.inside(['chown', '-R', `${uid}:${gid}`, home]);
    return file;
  }

  /** A program of the user's that sings, then does what the host's own does. */
  program(name: string, then = '/bin/false'): Promise<string> {
    const script = ['#!/bin/sh', this.line(name), `exec ${then} "$@"`, ''].join('\n');
    return this.file(`evil/${name}`, script, 0o755);
  }
}
