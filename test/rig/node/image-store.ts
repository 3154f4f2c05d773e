/** The images of test sessions, in a complete shared store; no registry is needed. */
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { imagesFolder } from '../site/folders.ts';
import { withLock } from '../site/lock.ts';
import { ensurePackages } from '../site/packages.ts';
import { say, step } from '../site/progress.ts';
import { archivesKey, busyboxArchive, siteArchive } from './image-archives.ts';

const site = 'localhost/berth-site:1';
const busybox = 'localhost/berth-busybox:1';

export interface TestImages {
  /** A read-only image store that all users can read: `additionalimagestore`, `STORAGE/images`. */
  readonly store: string;
  /** Debian with bash, git, tmux, rsync, sftp-server, python3, xauth, nc. */
  readonly site: typeof site;
  /** A static busybox: neither libc nor sftp-server. */
  readonly busybox: typeof busybox;
}

/**
 * Builds what is missing, one process at a time: the tars (80 s, kept in the cache directory), and the store (10 s, kept
 * until its directory is removed).
 */
export async function testImages(): Promise<TestImages> {
  const store = join(imagesFolder, `store-${archivesKey}`);
  const images = { store, site, busybox } as const;
  if (await isThere(store)) return images;
  const waiting = (): void => say('… another process makes the test images');
  return await withLock(`${imagesFolder}.lock`, waiting, async () => {
    if (await isThere(store)) return images;
    await ensurePackages(['podman', 'fuse-overlayfs']);
    const archives = { [site]: await siteArchive(), [busybox]: await busyboxArchive() };
    await step(`importing the test images into ${store}`, () => buildStore(store, archives));
    return images;
  });
}

/**
 * Builds a shared store from tars of root file systems, by image name. It is built under another name first, so that it
 * is always complete.
 */
export async function buildStore(
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
  // Podman's files contain the path of this directory.
  await rm(join(fresh, 'libpod'), { recursive: true, force: true });
  await rename(fresh, store);
  await rm(conf);
  await rm(`${fresh}.run`, { recursive: true, force: true });
}

/** Modes and owners are kept in an attribute (`force_mask`), so that users can read every file. */
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

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
