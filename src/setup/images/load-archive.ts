import { BerthError } from '../../system/errors/berth-error.ts';
import type { ImageArchive } from './image-archive.ts';
import {
  digestTag,
  findImage,
  type ImageIndex,
  splitReference,
  type StoredImage,
} from './image-index.ts';
import {
  assertPinned,
  keepPinned,
  movedNames,
  type NameMove,
  movesNames,
  renameImages,
  wrongDigest,
} from './image-names.ts';
import { podmanOnStore } from './podman-on-store.ts';
import { type PullOptions, type PullOutcome, type PullPlan, storeError } from './pull-images.ts';
import { type ImageSettings, type StoreTransaction, withOpenStore } from './store-transaction.ts';
import { loadArgs, tagArgs, type WantedImage } from './wanted-images.ts';

export interface LoadOptions extends Omit<PullOptions, 'authFile' | 'begins'> {
  /** Whether names may move to the images of an archive that is loaded under its own names. */
  readonly confirm: (moves: readonly NameMove[]) => Promise<boolean>;
}

/** An archive, and the name for its only image. Absent: the names in the archive. */
interface Archive {
  readonly file: string;
  readonly image?: string;
}

type Podman = (args: readonly string[]) => Promise<string>;

/**
 * Loads a docker or OCI archive into the shared store, for sites without a registry. Podman applies the archive's own
 * names, which whoever made it has chosen, but to a copy of the store's lists. They are judged there, after podman has
 * read the archive for the last time: its file may change at any time. With a name, only that name moves.
 *
 * @param wanted Images of the profiles: without a name, one of them must be in the archive.
 * @throws {BerthError} the errors of `podmanOnStore`; `image-digest-wrong`, `archive-several-images`,
 *   `archive-not-in-profiles`, `archive-moves-names`
 */
export async function loadArchive(
  site: ImageSettings,
  archive: Archive,
  wanted: readonly WantedImage[],
  options: LoadOptions,
): Promise<PullOutcome[]> {
  const { file, image } = archive;
  const run = { env: options.env, signal: AbortSignal.timeout(options.timeoutMs) };
  const attempted = `archive ${file}`;
  try {
    return await withOpenStore(site, { timeoutMs: options.timeoutMs }, async (store) => {
      const podman: Podman = (args) => podmanOnStore(site.podman, store.work, args, attempted, run);
      const before = store.index();
      const names = loadedNames(await podman(loadArgs(file)));
      const loaded = store.index().images.filter((one) => hasOne(one, names));
      if (image === undefined)
        for (const one of loaded)
          assertPinned(
            attempted,
            { ...one, names: one.names.filter((name) => names.includes(name)) },
            wanted,
          );
      else await nameOnly({ attempted, image, loaded, before, wanted, store, podman });
      await keepPinned(store, before, wanted);
      const found = (image === undefined ? wanted : [{ image }]).flatMap((one) => {
        const stored = findImage(store.index(), one.image);
        const isLoaded = loaded.some(({ id }) => id === stored?.id);
        return stored === undefined || !isLoaded ? [] : [{ ...one, id: stored.id }];
      });
      if (found.length === 0) throw notWanted(attempted, image, names);
      const moves = movedNames(before, store.index(), wanted);
      if (image === undefined && moves.length > 0 && !(await options.confirm(moves)))
        throw movesNames(
          attempted,
          moves,
          'Name the image that you want, `--from-archive FILE IMAGE`: then no other tag changes. Or allow it with --yes.',
        );
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

/** What a load would do: with the name that an archive's image would get, or with the names in the archive. */
export function planLoad(
  { names, ids }: ImageArchive,
  named: readonly string[],
): readonly PullPlan[] {
  const all = [named, names, ids.map((id) => `sha256:${id}`)].find((list) => list.length > 0);
  return (all ?? []).map((image) => ({ image, would: 'load' }));
}

/** Names in podman's output, or `sha256:ID` for an image without a name. */
function loadedNames(output: string): string[] {
  return [...output.matchAll(/^Loaded image(?:\(s\))?: (.+)$/gm)].flatMap(([, names = '']) =>
    names.split(/,\s*/),
  );
}

function hasOne({ id, names: own }: StoredImage, names: readonly string[]): boolean {
  return names.some((name) => name === `sha256:${id}` || own.includes(name));
}

/** Takes the archive's names away, gives back those that moved, and gives the only image its name. */
async function nameOnly(load: {
  readonly attempted: string;
  readonly image: string;
  readonly loaded: readonly StoredImage[];
  readonly before: ImageIndex;
  readonly wanted: readonly WantedImage[];
  readonly store: StoreTransaction;
  readonly podman: Podman;
}): Promise<void> {
  const { attempted, image, loaded, before, wanted, store, podman } = load;
  const [only, another] = loaded;
  if (only === undefined || another !== undefined)
    throw new BerthError(
      'archive-several-images',
      only === undefined
        ? `podman loaded no image from ${attempted}`
        : `${attempted} contains ${loaded.length} images, so it is not clear which is ${image}`,
    );
  const reference = splitReference(image);
  const { repository, tag = 'latest', digest } = reference;
  if (digest !== undefined && !only.digests.has(digest))
    throw wrongDigest(`${attempted}: the image for ${image}`, only, digest);
  const namesBefore = (id: string): readonly string[] =>
    before.images.find((one) => one.id === id)?.names ?? [];
  await renameImages(store.work.directory, namesBefore);
  await podman(
    tagArgs(only.id, digest === undefined ? `${repository}:${tag}` : digestTag(reference)),
  );
  const after = store.index();
  const old = namesBefore(only.id);
  const names = after.images
    .filter(({ id }) => id === only.id)
    .flatMap((one) => one.names.filter((name) => !old.includes(name)));
  if (digest === undefined) assertPinned(attempted, { ...only, names }, wanted);
  const others = movedNames(before, after, wanted).filter(
    ({ name, from, to }) =>
      // One by digest that has lost its name gets another.
      to !== undefined && name !== image && !from.names.some((one) => names.includes(one)),
  );
  if (others.length > 0)
    throw movesNames(
      attempted,
      others,
      'Write these images with their registries into the profiles.',
    );
}

function notWanted(
  attempted: string,
  image: string | undefined,
  names: readonly string[],
): BerthError {
  const what =
    image === undefined ? 'no profile names' : `the store does not have as ${image} afterwards`;
  return new BerthError(
    'archive-not-in-profiles',
    `${attempted} contains ${names.join(', ')}, which ${what}`,
  );
}
