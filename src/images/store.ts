import { readFileSync } from 'node:fs';
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { SshSettings } from '../config/profile/profile.ts';
import { isErrno } from '../errors.ts';
import { type ImageIndex, parseImageIndex } from './index-file.ts';
import { storageConf, type WorkStore } from './wanted-images.ts';
import { takeLock } from '../system/owner-lock.ts';
import { ensureRootFolder } from '../system/root-folders.ts';

/** What of ssh.yml is about images. */
export type ImageSite = Pick<SshSettings, 'storage' | 'podman' | 'profiles' | 'broken'>;

/** The shared store as the one who changes it has it, with nobody beside. */
export interface OpenStore {
  readonly folder: string;
  readonly work: WorkStore;
  /** What podman has made of the work so far. */
  readonly index: () => ImageIndex;
  /** Makes it what users read, in one step for each file. */
  readonly publish: () => Promise<void>;
}

export interface OpenOptions {
  /** Milliseconds to wait for another `berth images`. */
  readonly waitMs: number;
  /**
   * True: what podman removes stays where it is until it is published that it is gone. For `rmi`,
   * which would else take layers from under users who still read of them.
   */
  readonly removing?: boolean;
}

/** Another machine's lock, on a store that several share; a pull of hours is not given up. */
const foreignStaleMs = 24 * 3_600_000;

const metadata = ['overlay-layers', 'overlay-images'] as const;

/** Where the shared read-only store is. */
export function storeFolder({ storage }: Pick<ImageSite, 'storage'>): string {
  return join(storage, 'images');
}

/** @throws `image-store-broken`; an absent store is an empty one */
export function readIndex(folder: string): ImageIndex {
  const text = (file: string): string => {
    try {
      return readFileSync(join(folder, file), 'utf8');
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return '[]';
      throw error;
    }
  };
  const images = text('overlay-images/images.json');
  return parseImageIndex(images, text('overlay-layers/layers.json'), folder);
}

/**
 * Opens the shared store for a change. Podman works on a copy of its descriptions (`.work`, 0700) and
 * on the layers in their place: nobody reads of a layer before it is complete, a killed pull leaves the
 * store as it was, and podman's own locks, which any reader can hold for ever, are ours alone.
 *
 * @throws `lock-timeout`, `folder-unsafe`, `image-store-broken`, errors of the system
 */
export async function withOpenStore<T>(
  site: ImageSite,
  options: OpenOptions,
  change: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const folder = storeFolder(site);
  ensureRootFolder(folder);
  const { waitMs } = options;
  const lock = await takeLock(join(folder, '.lock'), { waitMs, foreignStaleMs });
  const work = { folder: join(folder, '.work'), conf: join(folder, '.work/storage.conf') };
  try {
    await sweepLayers(folder);
    await prepare(folder, work, site, options);
    return await change({
      folder,
      work,
      index: () => readIndex(work.folder),
      publish: () => publish(folder, work.folder, options.removing === true),
    });
  } finally {
    await rm(work.folder, { recursive: true, force: true });
    await sweepLayers(folder);
    await lock?.release();
  }
}

async function prepare(
  folder: string,
  work: WorkStore,
  site: ImageSite,
  { removing }: OpenOptions,
): Promise<void> {
  for (const name of [...metadata, 'overlay', 'overlay/l']) ensureRootFolder(join(folder, name));
  await rm(work.folder, { recursive: true, force: true });
  await mkdir(join(work.folder, 'tmp'), { recursive: true, mode: 0o700 });
  await chmod(work.folder, 0o700);
  for (const name of metadata)
    await cp(join(folder, name), join(work.folder, name), { recursive: true });
  const layers = join(work.folder, 'overlay');
  if (removing === true) await stubs(join(folder, 'overlay'), layers);
  else await symlink(join(folder, 'overlay'), layers);
  await writeFile(work.conf, storageConf(work, site.podman), { mode: 0o600 });
}

/** As much of the layers as podman wants to see of one that it removes. */
async function stubs(from: string, to: string): Promise<void> {
  await mkdir(join(to, 'l'), { recursive: true });
  for (const id of await layerFolders(from)) {
    await mkdir(join(to, id, 'diff'), { recursive: true });
    for (const name of ['link', 'lower']) {
      const text = await contents(join(from, id, name));
      if (text !== undefined) await writeFile(join(to, id, name), text);
    }
  }
}

async function publish(folder: string, work: string, removing: boolean): Promise<void> {
  const { layers, images } = readIndex(work);
  if (!removing) for (const id of layers.keys()) await showLayer(join(folder, 'overlay', id));
  await synced(folder);
  // A description never names what is not there yet, or not there any more.
  for (const name of metadata) await publishFiles(join(work, name), join(folder, name));
  const order = removing ? ['overlay-images/images.json', 'overlay-layers/layers.json'] : [];
  for (const file of [...order, 'overlay-layers/layers.json', 'overlay-images/images.json'])
    await replace(join(work, file), join(folder, file));
  const known = new Set([...layers.keys(), ...images.map(({ id }) => id)]);
  for (const name of metadata) await forget(join(folder, name), known);
}

/** Podman makes them root's alone; what is inside `diff` has the modes that `force_mask` gave it. */
async function showLayer(layer: string): Promise<void> {
  for (const name of ['diff', '.']) await chmod(join(layer, name), 0o755);
  for (const name of ['link', 'lower'])
    await chmod(join(layer, name), 0o644).catch((error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
    });
}

/** A layer that the power cut short must not be described as there. */
async function synced(folder: string): Promise<void> {
  const { execFile } = await import('node:child_process');
  await new Promise<void>((resolve, reject) => {
    execFile('/usr/bin/sync', ['--file-system', folder], { env: {} }, (error) => {
      if (error instanceof Error) reject(error);
      else resolve();
    });
  });
}

/** Everything but the two lists themselves: only a list makes podman look at it. */
async function publishFiles(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      ensureRootFolder(target);
      await publishFiles(source, target);
    } else if (entry.name.endsWith('.lock')) {
      await refreshLock(source, target);
    } else if (!/^(?:images|layers)\.json$/.test(entry.name)) {
      await replace(source, target);
    }
  }
}

async function replace(source: string, target: string): Promise<void> {
  const [fresh, old] = [await readFile(source), await readFile(target).catch(() => undefined)];
  if (old?.equals(fresh) === true) return chmod(target, 0o644);
  const temporary = `${target}.new`;
  try {
    await copyFile(source, temporary);
    await chmod(temporary, 0o644);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Its contents tell readers that something changed; its inode is what they hold locks on. */
async function refreshLock(source: string, target: string): Promise<void> {
  await writeFile(target, await readFile(source), { mode: 0o644 });
  await chmod(target, 0o644);
}

async function forget(folder: string, known: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(folder)) {
    const id = /^([0-9a-f]{64})(?:\.tar-split\.gz)?$/.exec(name)?.[1];
    if (id === undefined || known.has(id)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** What a killed or failed pull unpacked and nobody has read of. */
async function sweepLayers(folder: string): Promise<void> {
  const overlay = join(folder, 'overlay');
  const known = readIndex(folder).layers;
  const ids = await layerFolders(overlay);
  for (const id of ids) {
    if (known.has(id)) continue;
    const link = await contents(join(overlay, id, 'link'));
    if (link !== undefined && /^[A-Z0-9]{26}$/.test(link))
      await rm(join(overlay, 'l', link), { force: true });
    await rm(join(overlay, id), { recursive: true, force: true });
  }
}

async function layerFolders(overlay: string): Promise<string[]> {
  try {
    return (await readdir(overlay)).filter((name) => /^[0-9a-f]{64}$/.test(name));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

async function contents(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
