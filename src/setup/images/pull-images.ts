import { readFileSync, statSync } from 'node:fs';
import { asBerthError, BerthError, expectErrno } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { asMapping } from '../../system/text/mapping.ts';
import { imageDamage } from './image-damage.ts';
import { findImage, layersOf, splitReference, type StoredImage } from './image-index.ts';
import { keepPinned, renameImages } from './image-names.ts';
import { podmanOnStore, type PodmanOptions } from './podman-on-store.ts';
import {
  type ImageSettings,
  imageStoreDir,
  readIndex,
  type StoreTransaction,
  withOpenStore,
} from './store-transaction.ts';
import { pullArgs, removeArgs, type WantedImage, wantedImages } from './wanted-images.ts';

export interface PullOptions extends Pick<PodmanOptions, 'env'> {
  /** Path of a docker config.json or podman auth.json. */
  readonly authFile?: string;
  /** Milliseconds for all images together, and for the wait for another pull. */
  readonly timeoutMs: number;
  /** Called for each image before it is pulled. */
  readonly begins?: (image: string) => void;
}

export type PullOutcome =
  | {
      readonly image: string;
      readonly id: string;
      /** `present`: named by digest and already in the store, so the registry was not asked. */
      readonly did: 'pulled' | 'unchanged' | 'present';
    }
  | { readonly image: string; readonly error: BerthError };

/**
 * Pulls images into the shared store, one after the other. If one fails, the others are still pulled, and the store
 * keeps what it had. A damaged image is pulled again.
 *
 * @throws {BerthError} errors that concern all images: `directory-unsafe`, `image-store-broken`
 */
export async function pullImages(
  site: ImageSettings,
  images: readonly WantedImage['image'][],
  options: PullOptions,
): Promise<PullOutcome[]> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  const outcomes: PullOutcome[] = [];
  for (const image of images) {
    options.begins?.(image);
    try {
      outcomes.push({ image, ...(await pullImage(site, image, { ...options, signal })) });
    } catch (thrown) {
      outcomes.push({ image, error: storeError(thrown, `image ${image}`) });
    }
  }
  return outcomes;
}

async function pullImage(
  site: ImageSettings,
  image: string,
  options: PullOptions & PodmanOptions,
): Promise<{ id: string; did: 'pulled' | 'unchanged' | 'present' }> {
  const directory = imageStoreDir(site);
  const present = readIndex(directory);
  const named = findImage(present, image);
  if (named !== undefined && splitReference(image).digest !== undefined) {
    if (imageDamage(directory, present, named).length === 0)
      return { id: named.id, did: 'present' };
  }
  return await withOpenStore(site, { timeoutMs: options.timeoutMs }, async (store) => {
    const before = store.index();
    const old = findImage(before, image);
    const podman = (args: readonly string[]): Promise<string> =>
      podmanOnStore(site.podman, store.work, args, `image ${image}`, options);
    const damaged = old === undefined ? [] : damagedWith(store, old);
    if (damaged.length > 0) await podman(removeArgs(damaged));
    await podman(pullArgs(image, options.authFile));
    const found = findImage(store.index(), image);
    // Podman has checked the digests. This checks that sessions will find the image by its name.
    if (found === undefined)
      throw new BerthError(
        'image-not-stored',
        `image ${image} was pulled, but the store has no image of that name`,
      );
    // Removing damaged images has removed all of their names.
    if (damaged.length > 0) {
      const taken = new Set(store.index().images.flatMap(({ names }) => names));
      await renameImages(store.work.directory, (id, names) => {
        const old = before.images.find((one) => one.id === id)?.names ?? [];
        return [...names, ...old.filter((name) => !taken.has(name))];
      });
    }
    await keepPinned(store, before, wantedImages(site.profiles));
    await store.publish();
    return {
      id: found.id,
      did: found.id === old?.id && damaged.length === 0 ? 'unchanged' : 'pulled',
    };
  });
}

/** What a pull would do with an image. The registry is not contacted, so whether it has a newer image is not known. */
export interface PullPlan {
  readonly image: string;
  /** The image of this name in the store. */
  readonly id?: string;
  /**
   * `pull`: it is not in the store, or damaged there. `check-registry`: the registry would be asked for a newer one. `nothing`: it is
   * named by its digest and in the store. `load`: from an archive, which decides what it is.
   */
  readonly would: 'pull' | 'check-registry' | 'nothing' | 'load';
}

/** Changes nothing. @throws {BerthError} `image-store-broken` */
export function planPull(
  site: ImageSettings,
  images: readonly WantedImage['image'][],
): readonly PullPlan[] {
  const directory = imageStoreDir(site);
  const index = readIndex(directory);
  return images.map((image) => {
    const found = findImage(index, image);
    if (found === undefined) return { image, would: 'pull' };
    const isDamaged = imageDamage(directory, index, found).length > 0;
    const isPinned = splitReference(image).digest !== undefined;
    return {
      image,
      id: found.id,
      would: isDamaged ? 'pull' : isPinned ? 'nothing' : 'check-registry',
    };
  });
}

/** The image, and others that share its damaged layers: podman does not pull a layer that the store has. */
function damagedWith({ directory, index }: StoreTransaction, image: StoredImage): string[] {
  const all = index();
  if (imageDamage(directory, all, image).length === 0) return [];
  const layers = new Set(layersOf(all, image));
  return all.images
    .filter((one) => layersOf(all, one).some((layer) => layers.has(layer)))
    .filter((one) => imageDamage(directory, all, one).length > 0)
    .map(({ id }) => id);
}

/** An error of the file system as one of the store. */
export function storeError(thrown: unknown, attempted: string): BerthError {
  const full =
    thrown instanceof Error &&
    'code' in thrown &&
    ['ENOSPC', 'EDQUOT'].includes(String(thrown.code));
  if (!full) return asBerthError(thrown, attempted);
  return new BerthError('image-store-full', `${attempted}: no space left in the image store`, {
    cause: thrown,
  });
}

const largest = 1024 * 1024;

/**
 * Checks the registry credentials before podman reads them: it would wait for ever for the contents of a FIFO, and some of its
 * messages read like those of a registry.
 *
 * @throws {BerthError} `registry-auth-invalid`
 */
export function assertRegistryAuth(file: string): void {
  const problem = problemOf(file);
  if (problem === undefined) return;
  throw new BerthError(
    'registry-auth-invalid',
    `the registry credentials in ${escapeControl(file)}: ${problem}`,
    {
      fields: { file },
    },
  );
}

function problemOf(file: string): string | undefined {
  try {
    const status = statSync(file);
    if (!status.isFile()) return 'not a regular file';
    if (status.size > largest) return 'larger than 1 MiB';
    const text = readFileSync(file, 'utf8');
    return text === '' || asMapping(JSON.parse(text)) !== undefined
      ? undefined
      : 'not a JSON object';
  } catch (error) {
    // The parser's message would quote a secret.
    if (error instanceof SyntaxError) return 'not JSON';
    expectErrno(error);
    return String(error.code);
  }
}
