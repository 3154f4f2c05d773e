import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { CertificateAuthority } from '../../rig/site/certificates.ts';
import { dockerConfig, waitForRegistry, prepareRegistry } from '../../rig/site/docker-registry.ts';
import { ensureCommand } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/free-ports.ts';
import {
  type ProcessStart,
  startDetached,
  type StartedProcess,
  stopAll,
} from '../../rig/site/processes.ts';
import { busyboxArchive } from '../../rig/login-node/image-archives.ts';

/** Debian's docker-registry on loopback, with TLS from its own CA and one account. */
export class Registry {
  /** `127.0.0.1:PORT`, the first part of the names of its images. */
  readonly address: string;
  readonly directory: string;
  /** PEM; podman reads it from SSL_CERT_FILE. */
  readonly ca: string;
  #how: ProcessStart | undefined;
  #server: StartedProcess | undefined;

  private constructor(directory: string, ca: string, port: number) {
    this.directory = directory;
    this.ca = ca;
    this.address = `127.0.0.1:${port}`;
  }

  static async start(): Promise<Registry> {
    await ensureCommand('podman', 'podman');
    const directory = await mkdtemp(join(tmpdir(), 'berth-registry-'));
    const authority = await CertificateAuthority.create(join(directory, 'ca'));
    const { port } = await freePorts(['port']);
    const registry = new Registry(directory, authority.cert, port);
    registry.#how = await prepareRegistry({
      ...{ directory, address: registry.address, account: { user, password } },
      certificate: await authority.server('registry'),
    });
    await registry.up();
    return registry;
  }

  async up(): Promise<void> {
    if (this.#how !== undefined) this.#server = await startDetached(this.#how);
    await waitForRegistry(this.address, this.ca);
  }

  async down(): Promise<void> {
    if (this.#server !== undefined) await stopAll([this.#server]);
    this.#server = undefined;
  }

  async stop(): Promise<void> {
    await this.down();
    await rm(this.directory, { recursive: true, force: true });
  }

  /** Writes an auth.json with this password; by default the right one. */
  async authFile(secret = password): Promise<string> {
    const file = join(this.directory, `auth-${secret.length}.json`);
    const account = { user, password: secret };
    await writeFile(file, dockerConfig(this.address, account), { mode: 0o600 });
    return file;
  }

  /**
   * Builds a busybox image with a layer of random bytes and pushes it.
   *
   * @returns Its name, with tag and with digest.
   */
  async push(name: string, megabytes: number): Promise<{ tag: string; digest: string }> {
    const tag = `${this.address}/${name}`;
    const digestFile = join(this.directory, 'digest');
    await this.podman(['build', '--quiet', '--tag', tag, await this.#context(megabytes)]);
    const auth = ['--authfile', await this.authFile()];
    await this.podman(['push', '--quiet', ...auth, '--digestfile', digestFile, tag]);
    const digest = (await readFile(digestFile, 'utf8')).trim();
    return { tag, digest: `${tag.replace(/:[^:/]*$/, '')}@${digest}` };
  }

  /** Runs podman with a store of its own, as the one who pushes. */
  async podman(args: readonly string[]): Promise<string> {
    const store = [`--root=${this.directory}/store`, `--runroot=${this.directory}/run`];
    const { stdout } = await execa('podman', [...store, '--storage-driver=vfs', ...args], {
      env: { SSL_CERT_FILE: this.ca },
    });
    return stdout;
  }

  async #context(megabytes: number): Promise<string> {
    const context = join(this.directory, 'context');
    await rm(context, { recursive: true, force: true });
    await mkdir(context);
    await execa('cp', [await busyboxArchive(), join(context, 'root.tar')]);
    await writeFile(join(context, 'bytes'), randomBytes(megabytes * 1024 * 1024));
    const lines = ['FROM scratch', 'ADD root.tar /', 'COPY bytes /bytes', 'CMD ["/bin/sh"]', ''];
    await writeFile(join(context, 'Containerfile'), lines.join('\n'));
    return context;
  }
}

/** Must never appear on a command line or in a log. */
export const password = 'never-on-argv-1138';
const user = 'puller';
