import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { publicDirectory } from '../../rig/site/directories.ts';
import { installDirectory } from '../../rig/site/portal.ts';

/** ssh.yml, profiles and storage of a site, separate from the machine's. */
export class ImageSite {
  readonly directory: string;
  readonly storage: string;
  readonly store: string;

  private constructor(directory: string, storage: string) {
    this.directory = directory;
    this.storage = storage;
    this.store = join(storage, 'images');
  }

  static async make(): Promise<ImageSite> {
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, 'images-'));
    // mkdtemp(3) creates it with mode 0700, but users need access.
    await execa('chmod', ['0755', directory]);
    const site = new ImageSite(directory, join(directory, 'storage'));
    await site.profiles({});
    return site;
  }

  /** Replaces the profiles. */
  async profiles(images: Readonly<Record<string, string | object>>): Promise<void> {
    const profiles = join(this.directory, 'profiles');
    await rm(profiles, { recursive: true, force: true });
    await mkdir(profiles);
    for (const [name, image] of Object.entries(images)) {
      const profile = typeof image === 'string' ? { image } : image;
      await writeFile(join(profiles, `${name}.yml`), stringify(profile), { mode: 0o644 });
    }
    const settings = { storage: this.storage, profiles_dir: profiles };
    await writeFile(this.config, stringify(settings), { mode: 0o644 });
  }

  get config(): string {
    return join(this.directory, 'ssh.yml');
  }

  /** Runs `berth images ARGS --config-dir …` without a terminal, as from a timer. */
  berth(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return execa(join(installDirectory, 'berth'), this.words(args), {
      ...({ reject: false, stdin: 'ignore' } as const),
      env,
    });
  }

  words(args: readonly string[]): string[] {
    return ['images', ...args, '--config-dir', this.directory];
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}
