import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { publicFolder } from '../../rig/site/folders.ts';
import { installed } from '../../rig/site/portal.ts';

/** ssh.yml, profiles and storage of a site, separate from the machine's. */
export class ImageSite {
  readonly folder: string;
  readonly storage: string;
  readonly store: string;

  private constructor(folder: string, storage: string) {
    this.folder = folder;
    this.storage = storage;
    this.store = join(storage, 'images');
  }

  static async make(): Promise<ImageSite> {
    await mkdir(publicFolder, { recursive: true });
    const folder = await mkdtemp(join(publicFolder, 'images-'));
    // mkdtemp(3) creates it with mode 0700, but users need access.
    await execa('chmod', ['0755', folder]);
    const site = new ImageSite(folder, join(folder, 'storage'));
    await site.profiles({});
    return site;
  }

  /** Replaces the profiles. */
  async profiles(images: Readonly<Record<string, string | object>>): Promise<void> {
    const profiles = join(this.folder, 'profiles');
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
    return join(this.folder, 'ssh.yml');
  }

  /** Runs `berth images ARGS --config …` without a terminal, as from a timer. */
  berth(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return execa(join(installed, 'berth'), this.words(args), {
      ...({ reject: false, stdin: 'ignore' } as const),
      env,
    });
  }

  words(args: readonly string[]): string[] {
    return ['images', ...args, '--config', this.config];
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
