import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { execa } from 'execa';
import { busyboxArchive, siteArchive } from '../../ssh/host/image-archives.ts';
import { step } from '../progress.ts';
import type { NodeBinaries } from './binaries.ts';
import { entering } from './namespaces.ts';

/** containerd's socket, below the node's own /run: reached inside only. */
export const containerdSocket = '/run/containerd/containerd.sock';

/** Image of the container that holds a pod's namespaces. */
export const pauseImage = 'localhost/berth-pause:1';

/** The images of SshHost's tests, under the same names. */
export type ImageName = 'site' | 'busybox';

export const imageNames = {
  site: 'localhost/berth-site:1',
  busybox: 'localhost/berth-busybox:1',
} as const satisfies Record<ImageName, string>;

/** containerd's images, by ctr(8) in the namespace that kubelet uses. */
export class NodeImages {
  readonly #folder: string;
  readonly #init: number;
  readonly #binaries: NodeBinaries;

  constructor(folder: string, init: number, binaries: NodeBinaries) {
    this.#folder = folder;
    this.#init = init;
    this.#binaries = binaries;
  }

  /** ctr(8) on the node. @returns its stdout */
  async ctr(args: readonly string[]): Promise<string> {
    const { stdout } = await execa('nsenter', this.#ctr(args));
    return stdout;
  }

  /** Makes sure that containerd has an image of the tests; seconds for `site`, once. */
  async ensure(name: ImageName): Promise<string> {
    const image = imageNames[name];
    if (await this.#has(image)) return image;
    const archive = name === 'site' ? await siteArchive() : await busyboxArchive();
    await step(`importing ${image} into containerd`, () =>
      this.#import(image, archive, ['/bin/sh']),
    );
    return image;
  }

  async ensurePause(): Promise<void> {
    if (await this.#has(pauseImage)) return;
    const root = await mkdtemp(join(this.#folder, 'pause-'));
    try {
      const source = new URL('pause/pause.c', import.meta.url).pathname;
      await execa('gcc', ['-static', '-Os', '-s', '-o', join(root, 'pause'), source]);
      const archive = `${root}.tar`;
      await execa('tar', ['--owner=0', '--group=0', '-C', root, '-cf', archive, 'pause']);
      await this.#import(pauseImage, archive, ['/pause']);
      await rm(archive);
    } finally {
      await rm(root, { recursive: true });
    }
  }

  async #has(image: string): Promise<boolean> {
    return (await this.ctr(['images', 'list', '--quiet', `name==${image}`])) === image;
  }

  /**
   * A tar of a root file system becomes an image of one layer: written as `docker save` would, streamed,
   * so that no second copy of it is on the disk.
   */
  async #import(image: string, archive: string, command: readonly string[]): Promise<void> {
    const folder = await mkdtemp(join(this.#folder, 'image-'));
    try {
      const digest = createHash('sha256');
      await pipeline(createReadStream(archive), digest);
      await writeFile(
        join(folder, 'config.json'),
        JSON.stringify({
          architecture: 'amd64',
          os: 'linux',
          config: { Cmd: command, Env: ['PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'] },
          rootfs: { type: 'layers', diff_ids: [`sha256:${digest.digest('hex')}`] },
        }),
      );
      const manifest = { Config: 'config.json', RepoTags: [image], Layers: ['layer.tar'] };
      await writeFile(join(folder, 'manifest.json'), JSON.stringify([manifest]));
      await symlink(archive, join(folder, 'layer.tar'));
      const tar = ['--dereference', '-cf', '-', '-C', folder];
      await execa('tar', [...tar, 'manifest.json', 'config.json', 'layer.tar'], {
        buffer: false,
      }).pipe('nsenter', this.#ctr(['images', 'import', '-']));
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  #ctr(args: readonly string[]): string[] {
    const { ctr } = this.#binaries;
    return entering(this.#init, [
      ctr,
      ...['--address', containerdSocket, '--namespace', 'k8s.io', ...args],
    ]);
  }
}
