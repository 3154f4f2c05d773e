import { asBerthError, BerthError } from '../errors.ts';
import { findImage, layersOf, type StoredImage, splitReference } from './image-index.ts';
import { loadArgs, pullArgs, removeArgs, tagArgs, type WantedImage } from './wanted-images.ts';
import { imageDamage } from './image-damage.ts';
import { storeFullHint, podmanOnStore, type PodmanOptions } from './podman-on-store.ts';
import {
  type ImageSettings,
  type StoreTransaction,
  readIndex,
  imageStoreDir,
  withOpenStore,
} from './store-transaction.ts';

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

/**
 * Loads a docker or OCI archive into the shared store, for sites without a registry.
 *
 * @param image Name for the archive's only image; absent: the names in the archive.
 * @param wanted Images of the profiles: without `image`, one of them must be in the archive.
 * @throws {BerthError} the errors of `podmanOnStore`; `image-digest-wrong`, `archive-several-images`,
 *   `archive-not-in-profiles`
 */
export async function loadArchive(
  site: ImageSettings,
  archive: { readonly file: string; readonly image?: string },
  wanted: readonly WantedImage[],
  options: Omit<PullOptions, 'authFile'>,
): Promise<PullOutcome[]> {
  const { file, image } = archive;
  const run = { env: options.env, signal: AbortSignal.timeout(options.timeoutMs) };
  const attempted = `archive ${file}`;
  try {
    return await withOpenStore(site, { waitMs: options.timeoutMs }, async (store) => {
      const podman = (args: readonly string[]): Promise<string> =>
        podmanOnStore(site.podman, store.work, args, attempted, run);
      const before = store.index();
      const names = loadedNames(await podman(loadArgs(file)));
      if (image !== undefined) await nameOnly(names, image, attempted, podman);
      const found = (image === undefined ? wanted : [{ image }]).flatMap((one) => {
        const stored = findImage(store.index(), one.image);
        return stored === undefined || !isNamed(stored, names) ? [] : [{ ...one, id: stored.id }];
      });
      if (found.length === 0) throw notWanted(attempted, image, names);
      await store.publish();
      return found.map((one) => ({
        image: one.image,
        id: one.id,
        did: findImage(before, one.image)?.id === one.id ? 'unchanged' : 'pulled',
      }));
    });
  } catch (thrown) {
    throw storeError(thrown, attempted);
  }
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
  return await withOpenStore(site, { waitMs: options.timeoutMs }, async (store) => {
    const before = store.index();
    const old = findImage(before, image);
    const podman = (args: readonly string[]): Promise<string> =>
      podmanOnStore(site.podman, store.work, args, `image ${image}`, options);
    const damaged = old === undefined ? [] : damagedWith(store, old);
    if (damaged.length > 0) await podman(removeArgs(damaged));
    await podman(pullArgs(image, options.authFile));
    const found = findImage(store.index(), image);
    // Podman has checked the digests. This checks that sessions will find the image by its name.
    if (found === undefined) throw notFound(image);
    await store.publish();
    return {
      id: found.id,
      did: found.id === old?.id && damaged.length === 0 ? 'unchanged' : 'pulled',
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

/** Names in podman's output, or `sha256:ID` for an image without a name. */
function loadedNames(output: string): string[] {
  return [...output.matchAll(/^Loaded image(?:\(s\))?: (.+)$/gm)].flatMap(([, names = '']) =>
    names.split(/,\s*/),
  );
}

function isNamed({ id, names: own }: StoredImage, names: readonly string[]): boolean {
  return names.some((name) => name === `sha256:${id}` || own.includes(name));
}

async function nameOnly(
  names: readonly string[],
  image: string,
  attempted: string,
  podman: (args: readonly string[]) => Promise<string>,
): Promise<void> {
  const [name, another] = names;
  if (name === undefined || another !== undefined)
    throw new BerthError(
      `${attempted} contains ${names.length} images, so it is not clear which is ${image}`,
      {
        code: 'archive-several-images',
        hint: 'Omit the name to use the names in the archive, or save one image only.',
      },
    );
  const { repository, tag = 'archive' } = splitReference(image);
  await podman(tagArgs(name.replace(/^sha256:/, ''), `${repository}:${tag}`));
}

function notWanted(
  attempted: string,
  image: string | undefined,
  names: readonly string[],
): BerthError {
  if (image !== undefined)
    return new BerthError(`${attempted} contains another image than ${image}: the digest differs`, {
      code: 'image-digest-wrong',
      hint: 'A docker archive has no manifest, so podman computes a new digest. Name the image by tag, or by the digest that podman shows after loading the archive into an empty store.',
    });
  return new BerthError(`${attempted} contains ${names.join(', ')}, which no profile names`, {
    code: 'archive-not-in-profiles',
    hint: 'Give the name of the image: `berth images pull --from-archive FILE IMAGE`.',
  });
}

function notFound(image: string): BerthError {
  return new BerthError(`image ${image} was pulled, but the store has no image of that name`, {
    code: 'image-not-stored',
    hint: 'Write the name with its registry and in lower case. If it is already written like that, report this as a bug.',
  });
}

function storeError(thrown: unknown, attempted: string): BerthError {
  const full =
    thrown instanceof Error &&
    'code' in thrown &&
    ['ENOSPC', 'EDQUOT'].includes(String(thrown.code));
  if (!full) return asBerthError(thrown, attempted);
  return new BerthError(`${attempted}: no space left in the image store`, {
    code: 'image-store-full',
    hint: storeFullHint,
    cause: thrown,
  });
}
