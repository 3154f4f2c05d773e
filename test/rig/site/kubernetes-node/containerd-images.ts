import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { execa } from 'execa';
import { busyboxArchive, siteArchive } from '../../login-node/image-archives.ts';
import { step } from '../progress.ts';
import { waitFor } from '../../wait-for.ts';
import type { NodeBinaries } from './binaries.ts';
import { containerdSocket, pauseImage, registriesDirectory } from './containerd-paths.ts';
import { nsenterArgs } from './namespaces.ts';
import type { NodeRegistry } from './registry.ts';

/** The test images; image-store.ts uses the same names. */
export type ImageName = 'site' | 'busybox';

const imageNames = {
  site: 'localhost/berth-site:1',
  busybox: 'localhost/berth-busybox:1',
} as const satisfies Record<ImageName, string>;

const archives = { site: siteArchive, busybox: busyboxArchive } as const;

const path = 'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';

/** The content of an image. */
export interface Layer {
  /** A tar of the root file system. */
  readonly archive: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** Manages containerd's images with ctr(8), in kubelet's containerd namespace. */
export class ContainerdImages {
  readonly #directory: string;
  readonly #init: number;
  readonly #binaries: NodeBinaries;

  constructor(directory: string, init: number, binaries: NodeBinaries) {
    this.#directory = directory;
    this.#init = init;
    this.#binaries = binaries;
  }

  /** Runs ctr(8) on the node. @returns its stdout */
  async ctr(args: readonly string[]): Promise<string> {
    const { stdout } = await execa('nsenter', this.#ctr(args));
    return stdout;
  }

  /** Waits until containerd answers. */
  async waitForContainerd(alive?: () => Promise<void>): Promise<void> {
    const waiting = { what: 'containerd to answer', timeoutMs: 60_000, everyMs: 50 };
    await waitFor({ ...waiting, ...(alive === undefined ? {} : { alive }) }, () =>
      this.ctr(['version']),
    );
  }

  /** Imports a test image if containerd lacks it; `site` takes some seconds. @returns the image name */
  async ensure(name: ImageName): Promise<string> {
    const image = imageNames[name];
    if (await this.has(image)) return image;
    const archive = await archives[name]();
    await step(`importing ${image} into containerd`, () =>
      this.#import(image, { archive, command: ['/bin/sh'] }),
    );
    return image;
  }

  /** Imports an image with one layer if containerd lacks it. */
  async ensureImage(image: string, layer: () => Promise<Layer>): Promise<void> {
    if (await this.has(image)) return;
    await step(`importing ${image} into containerd`, async () =>
      this.#import(image, await layer()),
    );
  }

  /**
   * Pushes a test image under the name `as` and removes that name from containerd. The image gets a label and
   * thereby its own ID, because kubelet lets a pod use an image that was pulled with a password only if the
   * pod has the password too.
   */
  async push(name: ImageName, as: string, { user, password }: NodeRegistry): Promise<void> {
    const labels = { 'berth.test/pushed-as': as };
    await this.#import(as, { archive: await archives[name](), command: ['/bin/sh'], labels });
    const trust = ['--hosts-dir', registriesDirectory(this.#directory)];
    await this.ctr(['images', 'push', '--user', `${user}:${password}`, ...trust, as]);
    await this.ctr(['images', 'remove', as]);
  }

  async ensurePause(): Promise<void> {
    if (await this.has(pauseImage)) return;
    const root = await mkdtemp(join(this.#directory, 'pause-'));
    try {
      const source = new URL('pause/pause.c', import.meta.url).pathname;
      await execa('gcc', ['-static', '-Os', '-s', '-o', join(root, 'pause'), source]);
      const archive = `${root}.tar`;
      await execa('tar', ['--owner=0', '--group=0', '-C', root, '-cf', archive, 'pause']);
      await this.#import(pauseImage, { archive, command: ['/pause'] });
      await rm(archive);
    } finally {
      await rm(root, { recursive: true });
    }
  }

  /** Imports the images of a docker-archive under their names. */
  async importArchive(archive: string): Promise<void> {
    await this.ctr(['images', 'import', archive]);
  }

  async has(image: string): Promise<boolean> {
    return (await this.ctr(['images', 'list', '--quiet', `name==${image}`])) === image;
  }

  /**
   * Imports a tar of a root file system as an image with one layer. The archive that `docker save` would write
   * is streamed to ctr(8), to save disk space.
   */
  async #import(
    image: string,
    { archive, entrypoint = [], command = [], labels = {} }: Layer,
  ): Promise<void> {
    const directory = await mkdtemp(join(this.#directory, 'image-'));
    try {
      const digest = createHash('sha256');
      await pipeline(createReadStream(archive), digest);
      await writeFile(
        join(directory, 'config.json'),
        JSON.stringify({
          architecture: 'amd64',
          os: 'linux',
          config: { Entrypoint: entrypoint, Cmd: command, Env: [path], Labels: labels },
          rootfs: { type: 'layers', diff_ids: [`sha256:${digest.digest('hex')}`] },
        }),
      );
      const manifest = { Config: 'config.json', RepoTags: [image], Layers: ['layer.tar'] };
      await writeFile(join(directory, 'manifest.json'), JSON.stringify([manifest]));
      await symlink(archive, join(directory, 'layer.tar'));
      const tar = ['--dereference', '-cf', '-', '-C', directory];
      await execa('tar', [...tar, 'manifest.json', 'config.json', 'layer.tar'], {
        buffer: false,
      }).pipe('nsenter', this.#ctr(['images', 'import', '-']));
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  #ctr(args: readonly string[]): string[] {
    const { ctr } = this.#binaries;
    return nsenterArgs(this.#init, [
      ctr,
      ...['--address', containerdSocket, '--namespace', 'k8s.io', ...args],
    ]);
  }
}
