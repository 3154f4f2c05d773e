import { asBerthError, BerthError } from '../errors.ts';
import { findImage, layersOf, type StoredImage, splitReference } from './index-file.ts';
import { loadWords, pullWords, removeWords, tagWords, type WantedImage } from './wanted-images.ts';
import { imageDamage } from './damage.ts';
import { podmanOnStore, type PodmanOptions } from './podman.ts';
import { type ImageSite, type OpenStore, readIndex, storeFolder, withOpenStore } from './store.ts';

export interface PullOptions extends Pick<PodmanOptions, 'env'> {
  /** docker's config.json or podman's auth.json. */
  readonly authFile?: string;
  /** Milliseconds for all images together, and for the wait for another pull. */
  readonly timeoutMs: number;
  /** Told of each image when its turn comes. */
  readonly begins?: (image: string) => void;
}

export type PullOutcome =
  | {
      readonly image: string;
      readonly id: string;
      /** `present`: named by its digest and already there, so that nobody was asked. */
      readonly did: 'pulled' | 'unchanged' | 'present';
    }
  | { readonly image: string; readonly error: BerthError };

/**
 * Brings images into the shared store, one after the other; one that fails costs no other, and leaves
 * what was there. An image of the store that is damaged is fetched anew.
 *
 * @throws what concerns all: `folder-unsafe`, `image-store-broken`
 */
export async function pullImages(
  site: ImageSite,
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
 * Brings what is in a docker or OCI archive into the shared store, for a site without a registry.
 *
 * @param image the name that the archive's one image is to have; absent: the archive says it
 * @param wanted the images of the profiles: without `image`, one of them must be in the archive
 * @throws as `podmanOnStore`; `image-digest-wrong`, `archive-several-images`, `archive-not-wanted`
 */
export async function loadArchive(
  site: ImageSite,
  archive: { readonly file: string; readonly image?: string },
  wanted: readonly WantedImage[],
  options: Omit<PullOptions, 'authFile'>,
): Promise<PullOutcome[]> {
  const { file, image } = archive;
  const run = { env: options.env, signal: AbortSignal.timeout(options.timeoutMs) };
  const attempted = `archive ${file}`;
  try {
    return await withOpenStore(site, { waitMs: options.timeoutMs }, async (store) => {
      const podman = (words: readonly string[]): Promise<string> =>
        podmanOnStore(site.podman, store.work, words, attempted, run);
      const before = store.index();
      const names = loadedNames(await podman(loadWords(file)));
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
  site: ImageSite,
  image: string,
  options: PullOptions & PodmanOptions,
): Promise<{ id: string; did: 'pulled' | 'unchanged' | 'present' }> {
  const folder = storeFolder(site);
  const there = readIndex(folder);
  const named = findImage(there, image);
  if (named !== undefined && splitReference(image).digest !== undefined) {
    if (imageDamage(folder, there, named).length === 0) return { id: named.id, did: 'present' };
  }
  return await withOpenStore(site, { waitMs: options.timeoutMs }, async (store) => {
    const before = store.index();
    const old = findImage(before, image);
    const podman = (words: readonly string[]): Promise<string> =>
      podmanOnStore(site.podman, store.work, words, `image ${image}`, options);
    const mended = old === undefined ? [] : damagedWith(store, old);
    if (mended.length > 0) await podman(removeWords(mended));
    await podman(pullWords(image, options.authFile));
    const found = findImage(store.index(), image);
    // Podman has checked each digest on the way; this is about the name that sessions will ask for.
    if (found === undefined) throw notFound(image);
    await store.publish();
    return {
      id: found.id,
      did: found.id === old?.id && mended.length === 0 ? 'unchanged' : 'pulled',
    };
  });
}

/** The image and all that stand on the same damaged layers: podman fetches no layer that it still has. */
function damagedWith({ folder, index }: OpenStore, image: StoredImage): string[] {
  const all = index();
  if (imageDamage(folder, all, image).length === 0) return [];
  const layers = new Set(layersOf(all, image));
  return all.images
    .filter((one) => layersOf(all, one).some((layer) => layers.has(layer)))
    .filter((one) => imageDamage(folder, all, one).length > 0)
    .map(({ id }) => id);
}

/** What podman says that it loaded: a name, or `sha256:ID` for an image without one. */
function loadedNames(said: string): string[] {
  return [...said.matchAll(/^Loaded image(?:\(s\))?: (.+)$/gm)].flatMap(([, names = '']) =>
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
  podman: (words: readonly string[]) => Promise<string>,
): Promise<void> {
  const [name, another] = names;
  if (name === undefined || another !== undefined)
    throw new BerthError(`${attempted} holds ${names.length} images: which is ${image}?`, {
      code: 'archive-several-images',
      exit: 'usage',
      hint: 'Leave the name out, so that those of the archive count; or save one image only.',
    });
  const { repository, tag = 'archive' } = splitReference(image);
  await podman(tagWords(name.replace(/^sha256:/, ''), `${repository}:${tag}`));
}

function notWanted(
  attempted: string,
  image: string | undefined,
  names: readonly string[],
): BerthError {
  if (image !== undefined)
    return new BerthError(`${attempted} holds another image than ${image}: its digest differs`, {
      code: 'image-digest-wrong',
      exit: 'unavailable',
      hint: 'A docker archive has no manifest, so its digest is new: name the image by tag, or by the digest that a load into an empty podman store shows.',
    });
  return new BerthError(`${attempted} holds ${names.join(', ')}, which no profile names`, {
    code: 'archive-not-wanted',
    exit: 'config',
    hint: 'Say which image it is: berth images pull --from-archive FILE IMAGE.',
  });
}

function notFound(image: string): BerthError {
  return new BerthError(`image ${image} was fetched, and the store has none of that name`, {
    code: 'image-name-lost',
    exit: 'software',
    hint: 'Write the image with its registry and in lower case; else report this line.',
  });
}

function storeError(thrown: unknown, attempted: string): BerthError {
  const full =
    thrown instanceof Error &&
    'code' in thrown &&
    ['ENOSPC', 'EDQUOT'].includes(String(thrown.code));
  if (!full) return asBerthError(thrown, attempted);
  return new BerthError(`${attempted}: there is no space left in the image store`, {
    code: 'image-store-full',
    exit: 'io',
    hint: 'See df and df -i of the storage folder; `berth images gc --dry-run` shows what could go. The store is as it was.',
    cause: thrown,
  });
}
