/** The shared image store with the test images; no registry is needed. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { imagesDirectory } from '../site/directories.ts';
import { withLock } from '../site/lock.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { say, step } from '../site/progress.ts';
import { archivesFingerprint, busyboxArchive, siteArchive } from './image-archives.ts';

const site = 'localhost/berth-site:1';
const busybox = 'localhost/berth-busybox:1';

export interface TestImages {
  /** Path of a world-readable image store, for podman's `additionalimagestore`. */
  readonly store: string;
  /** Debian with bash, git, tmux, rsync, sftp-server, python3, xauth, nc. */
  readonly site: typeof site;
  /** A static busybox, without libc and sftp-server. */
  readonly busybox: typeof busybox;
}

/**
 * Builds what is missing, one process at a time: the archives (80 s, kept in the cache) and the store
 * (10 s, kept until its directory is removed).
 */
export async function testImageStore(): Promise<TestImages> {
  const store = join(imagesDirectory, `store-${archivesFingerprint}`);
  const images = { store, site, busybox } as const;
  if (existsSync(store)) return images;
  const waiting = (): void => say('… another process is building the test images');
  return await withLock(`${imagesDirectory}.lock`, waiting, async () => {
    if (existsSync(store)) return images;
    await ensurePackages(['podman', 'fuse-overlayfs']);
    const archives = { [site]: await siteArchive(), [busybox]: await busyboxArchive() };
    await step(`importing the test images into ${store}`, () => buildImageStore(store, archives));
    return images;
  });
}

/**
 * Builds a shared store from tars of root file systems. It is built under another name and then renamed, so
 * that it is never incomplete.
 *
 * @param archives paths of the tars, by image name
 */
export async function buildImageStore(
  store: string,
  archives: Readonly<Record<string, string>>,
): Promise<void> {
  const fresh = `${store}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o755 });
  const conf = `${fresh}.conf`;
  await writeFile(conf, storageConf(fresh));
  for (const [image, archive] of Object.entries(archives))
    await execa('podman', ['import', '--quiet', archive, image], {
      env: { CONTAINERS_STORAGE_CONF: conf },
    });
  await execa('chmod', ['-R', 'a+rX', fresh]);
  // Podman's database contains the name of this directory.
  await rm(join(fresh, 'libpod'), { recursive: true, force: true });
  await rename(fresh, store);
  await rm(conf);
  await rm(`${fresh}.run`, { recursive: true, force: true });
}

/** `force_mask` keeps modes and owners in an extended attribute, so that every user can read all files. */
function storageConf(graphRoot: string): string {
  return [
    '[storage]',
    'driver = "overlay"',
    `graphroot = "${graphRoot}"`,
    `runroot = "${graphRoot}.run"`,
    '[storage.options.overlay]',
    'mount_program = "/usr/bin/fuse-overlayfs"',
    'force_mask = "shared"',
    '',
  ].join('\n');
}
