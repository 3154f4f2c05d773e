/** The root file systems of the test images, built once from Debian's packages and kept in the cache. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensureCommand, ensurePackages } from '../site/debian-packages.ts';
import { cacheDirectory } from '../site/directories.ts';
import { withLock } from '../site/lock.ts';
import { say, step } from '../site/progress.ts';

/** Programs that users expect in a session; neither other shells nor Slurm. */
const sitePackages = [
  ...['procps', 'rsync', 'openssh-sftp-server', 'git', 'tmux', 'xauth', 'x11-utils'],
  ...['netcat-openbsd', 'python3', 'openssh-client'],
];

/** Fingerprint of the recipes: a change of it builds the archives again. */
export const archivesFingerprint = createHash('sha256')
  .update(JSON.stringify(['bookworm', 'minbase', sitePackages, 'busybox-static 1']))
  .digest('hex')
  .slice(0, 12);

const directory = join(cacheDirectory, 'images');

/** A tar of a Debian system with the usual tools. It has no device nodes, which only root could unpack. */
export function siteArchive(): Promise<string> {
  return kept(`site-${archivesFingerprint}.tar`, async (file) => {
    await ensureCommand('mmdebstrap', 'mmdebstrap');
    await step('building the site image with mmdebstrap (80 s)', () =>
      execa('mmdebstrap', [
        ...['--variant=minbase', `--include=${sitePackages.join(',')}`],
        ...['bookworm', file],
      ]),
    );
    await execa('tar', ['--delete', `--file=${file}`, './dev']);
  });
}

/** A tar with a static busybox, its applets and empty directories to mount on; neither libc nor sftp-server. */
export function busyboxArchive(): Promise<string> {
  return kept(`busybox-${archivesFingerprint}.tar`, async (file) => {
    await ensurePackages(['busybox-static']);
    const root = await mkdtemp(join(directory, 'busybox.'));
    try {
      await chmod(root, 0o755);
      for (const name of ['bin', 'dev', 'etc', 'home', 'proc', 'root', 'run', 'sys', 'tmp', 'usr'])
        await mkdir(join(root, name));
      await chmod(join(root, 'tmp'), 0o1777);
      await copyFile('/bin/busybox', join(root, 'bin/busybox'));
      const { stdout } = await execa('/bin/busybox', ['--list']);
      for (const applet of stdout.split('\n'))
        if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet));
      await packed(root, file);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
}

/** The name of the image in `savedBusybox`. */
export const savedBusyboxName = 'localhost/berth-busybox:1';

/** An archive of `podman save` with that image. Podman works in a store of its own, and needs root. */
export function savedBusybox(): Promise<string> {
  return kept(`saved-busybox-${archivesFingerprint}.tar`, async (file) => {
    // Podman refuses longer paths than 50 characters for its run root.
    const store = await mkdtemp('/tmp/berth-save.');
    const podman = (...args: string[]) =>
      execa('podman', ['--root', join(store, 'root'), '--runroot', join(store, 'run'), ...args]);
    try {
      await podman('import', '--quiet', await busyboxArchive(), savedBusyboxName);
      await podman('save', '--quiet', '--output', file, savedBusyboxName);
    } finally {
      await execa('unshare', ['--mount', 'rm', '-rf', store]);
    }
  });
}

async function packed(root: string, file: string): Promise<void> {
  await execa('tar', ['--owner=0', '--group=0', '-C', root, '-cf', file, '.']);
}

/** Returns a file of the cache, and makes it if it is missing: under another name first, so that it is never incomplete. */
async function kept(name: string, make: (file: string) => Promise<void>): Promise<string> {
  const file = join(directory, name);
  if (existsSync(file)) return file;
  // Two processes may need it at the same time.
  await withLock(`${file}.lock`, waiting, async () => {
    if (existsSync(file)) return;
    const fresh = join(directory, `new-${name}`);
    await rm(fresh, { force: true });
    await make(fresh);
    await rename(fresh, file);
  });
  return file;
}

const waiting = (): void => say('… another process is building the test images');
