import { constants, openSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { isErrno } from '../../system/errors/berth-error.ts';
import { brokenStore, type ImageIndex, parseImageIndex } from './image-index.ts';
import { storageConf, type WorkingStore } from './wanted-images.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { takeLock } from '../../system/file-lock.ts';
import { ifExists } from '../../system/if-present.ts';
import { whileOpen } from '../../system/path-descriptor.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';

/** The settings of ssh.yml about images. */
export type ImageSettings = Pick<SshSettings, 'storage' | 'podman' | 'profiles' | 'broken'>;

/** The shared store, opened for a change by one process. */
export interface StoreTransaction {
  readonly directory: string;
  readonly work: WorkingStore;
  /** The index, as podman has changed it so far. */
  readonly index: () => ImageIndex;
  /** Makes the changes visible to users, atomically for each file. */
  readonly publish: () => Promise<void>;
}

export interface OpenOptions {
  /** Milliseconds to wait for another `berth images`. */
  readonly timeoutMs: number;
  /**
   * True: layers that podman removes stay on disk until the removal is published. Needed for `rmi`, which
   * would otherwise remove layers that users are still reading.
   */
  readonly removing?: boolean;
}

/** For the lock of another machine, if several share the store: a pull may take hours. */
const foreignStaleMs = 24 * 3_600_000;

const metadata = ['overlay-layers', 'overlay-images'] as const;

/** Directory of the shared read-only store. */
export function imageStoreDir({ storage }: Pick<ImageSettings, 'storage'>): string {
  return join(storage, 'images');
}

/** The index of the store; empty if there is no store. @throws {BerthError} `image-store-broken` */
export function readIndex(directory: string): ImageIndex {
  const text = (file: string): string => {
    const path = join(directory, file);
    try {
      // A FIFO without a writer is empty then.
      return whileOpen(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), (descriptor) =>
        readFileSync(descriptor, 'utf8'),
      );
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return '[]';
      if (isErrno(error, 'EISDIR', 'ELOOP'))
        throw brokenStore(`${path} cannot be read: ${String(error.code)}`, directory);
      throw error;
    }
  };
  const images = text('overlay-images/images.json');
  return parseImageIndex(images, text('overlay-layers/layers.json'), directory);
}

/**
 * Opens the shared store for a change. Podman works on a copy of the metadata (`.work`, mode 0700) and on the layers in
 * place. So nobody reads a layer before it is complete, a killed pull leaves the store unchanged, and readers, who could
 * hold podman's own locks forever, do not block the change.
 *
 * @throws {BerthError} `lock-timeout`, `directory-unsafe`, `image-store-broken`; system errors
 */
export async function withOpenStore<T>(
  site: ImageSettings,
  options: OpenOptions,
  change: (store: StoreTransaction) => Promise<T>,
): Promise<T> {
  const directory = imageStoreDir(site);
  ensureRootDirectory(directory);
  const { timeoutMs } = options;
  const lock = await takeLock(join(directory, '.lock'), { timeoutMs, foreignStaleMs });
  const work = { directory: join(directory, '.work'), conf: join(directory, '.work/storage.conf') };
  try {
    await sweepLayers(directory);
    await prepare(directory, work, site, options);
    return await change({
      directory,
      work,
      index: () => readIndex(work.directory),
      publish: () => publish(directory, work.directory, options.removing === true),
    });
  } finally {
    await rm(work.directory, { recursive: true, force: true });
    await sweepLayers(directory);
    await lock?.release();
  }
}

async function prepare(
  directory: string,
  work: WorkingStore,
  site: ImageSettings,
  { removing }: OpenOptions,
): Promise<void> {
  for (const name of [...metadata, 'overlay', 'overlay/l'])
    ensureRootDirectory(join(directory, name));
  await rm(work.directory, { recursive: true, force: true });
  await mkdir(join(work.directory, 'tmp'), { recursive: true, mode: 0o700 });
  await chmod(work.directory, 0o700);
  for (const name of metadata)
    await cp(join(directory, name), join(work.directory, name), { recursive: true });
  const layers = join(work.directory, 'overlay');
  if (removing === true) await stubs(join(directory, 'overlay'), layers);
  else await symlink(join(directory, 'overlay'), layers);
  await writeFile(work.conf, storageConf(work, site.podman), { mode: 0o600 });
}

/** Copies as much of the layers as podman needs to remove one. */
async function stubs(from: string, to: string): Promise<void> {
  await mkdir(join(to, 'l'), { recursive: true });
  for (const id of await layerIds(from)) {
    await mkdir(join(to, id, 'diff'), { recursive: true });
    for (const name of ['link', 'lower']) {
      const text = await ifExists(readFile(join(from, id, name), 'utf8'));
      if (text !== undefined) await writeFile(join(to, id, name), text);
    }
  }
}

async function publish(directory: string, work: string, removing: boolean): Promise<void> {
  const { layers, images } = readIndex(work);
  if (!removing) for (const id of layers.keys()) await showLayer(join(directory, 'overlay', id));
  await synced(directory);
  // In this order the metadata never names a layer that does not exist yet or that is gone.
  for (const name of metadata) await publishFiles(join(work, name), join(directory, name));
  const order = removing ? ['overlay-images/images.json', 'overlay-layers/layers.json'] : [];
  for (const file of [...order, 'overlay-layers/layers.json', 'overlay-images/images.json'])
    await replace(join(work, file), join(directory, file));
  const known = new Set([...layers.keys(), ...images.map(({ id }) => id)]);
  for (const name of metadata) await forget(join(directory, name), known);
}

/** Podman creates them for root only; files in `diff` have the modes that `force_mask` set. */
async function showLayer(layer: string): Promise<void> {
  for (const name of ['diff', '.']) await chmod(join(layer, name), 0o755);
  for (const name of ['link', 'lower']) await ifExists(chmod(join(layer, name), 0o644));
}

/** So that after a power failure the metadata does not name an incomplete layer. */
async function synced(directory: string): Promise<void> {
  const { runProgram } = await import('../../system/run-program.ts');
  const { error } = await runProgram('/usr/bin/sync', ['--file-system', directory]);
  if (error !== undefined) throw new Error(error.message, { cause: error });
}

/** Copies all metadata but the two lists, which are what makes podman read the rest. */
async function publishFiles(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      ensureRootDirectory(target);
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
  await writeAtomically(target, fresh, { mode: 0o644, replaceable: true });
}

/** Readers see a change by the contents; they hold locks on the inode. */
async function refreshLock(source: string, target: string): Promise<void> {
  await writeFile(target, await readFile(source), { mode: 0o644 });
  await chmod(target, 0o644);
}

async function forget(directory: string, known: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(directory)) {
    const id = /^([0-9a-f]{64})(?:\.tar-split\.gz)?$/.exec(name)?.[1];
    if (id === undefined || known.has(id)) continue;
    await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** Removes layers that a killed or failed pull has unpacked, and that were never published. */
async function sweepLayers(directory: string): Promise<void> {
  const overlay = join(directory, 'overlay');
  const known = readIndex(directory).layers;
  const ids = await layerIds(overlay);
  for (const id of ids) {
    if (known.has(id)) continue;
    const link = await ifExists(readFile(join(overlay, id, 'link'), 'utf8'));
    if (link !== undefined && /^[A-Z0-9]{26}$/.test(link))
      await rm(join(overlay, 'l', link), { force: true });
    await rm(join(overlay, id), { recursive: true, force: true });
  }
}

async function layerIds(overlay: string): Promise<string[]> {
  const names = (await ifExists(readdir(overlay))) ?? [];
  return names.filter((name) => /^[0-9a-f]{64}$/.test(name));
}
