import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import {
  digestTag,
  findImage,
  type ImageIndex,
  type StoredImage,
  splitReference,
} from './image-index.ts';
import type { StoreTransaction } from './store-transaction.ts';
import type { WantedImage } from './wanted-images.ts';

/** A name that had an image, and has another now, or none. */
export interface NameMove {
  /** In the store, or as a profile writes it. */
  readonly name: string;
  readonly from: StoredImage;
  readonly to: StoredImage | undefined;
}

/**
 * The names that another image has than before: those in the store, and those in profiles. A short name in a profile
 * can move although no name in the store does, because it matches any registry.
 */
export function movedNames(
  before: ImageIndex,
  after: ImageIndex,
  wanted: readonly WantedImage[],
): NameMove[] {
  const owner = (index: ImageIndex, name: string): StoredImage | undefined =>
    index.images.find(({ names }) => names.includes(name));
  const stored = before.images.flatMap((from) =>
    from.names.map((name) => ({ name, from, to: owner(after, name) })),
  );
  const named = wanted.flatMap(({ image: name }) => {
    const from = findImage(before, name);
    if (from === undefined || stored.some((one) => one.name === name)) return [];
    return [{ name, from, to: findImage(after, name) }];
  });
  return [...stored, ...named].filter(({ from, to }) => from.id !== to?.id);
}

/**
 * Gives the images in a working copy of the store other names. Podman does not run meanwhile, and cannot do it:
 * `podman tag` refuses names with a digest.
 *
 * @param directory of the working copy
 */
export async function renameImages(
  directory: string,
  namesOf: (id: string, names: readonly string[]) => readonly string[],
): Promise<void> {
  const file = join(directory, 'overlay-images/images.json');
  const records = JSON.parse(await readFile(file, 'utf8')) as readonly {
    readonly id: string;
    readonly names?: readonly string[];
  }[];
  const renamed = records.map((one) => ({ ...one, names: namesOf(one.id, one.names ?? []) }));
  await writeFile(file, JSON.stringify(renamed));
}

/** Names the images that profiles name by digest, and that would have no name in their repository any more. */
export async function keepPinned(
  { work, index }: StoreTransaction,
  before: ImageIndex,
  wanted: readonly WantedImage[],
): Promise<void> {
  const after = index();
  const kept = wanted.flatMap(({ image }) => {
    const { digest } = splitReference(image);
    const old = findImage(before, image);
    const isStored = after.images.some(({ id }) => id === old?.id);
    if (digest === undefined || old === undefined || !isStored) return [];
    if (findImage(after, image) !== undefined) return [];
    const name = old.names.find((one) => isNamed({ ...old, names: [one] }, image)) ?? image;
    const { repository } = splitReference(name);
    return [{ id: old.id, name: digestTag({ repository, digest }) }];
  });
  if (kept.length === 0) return;
  await renameImages(work.directory, (id, names) => [
    ...names,
    ...new Set(kept.filter((one) => one.id === id).map(({ name }) => name)),
  ]);
}

/**
 * Refuses an image for a name whose digest profiles pin, unless it has one of these digests, or another profile names
 * it by this tag.
 *
 * @param image with the names that it is loaded for only
 * @throws {BerthError} `image-digest-wrong`
 */
export function assertPinned(
  attempted: string,
  image: StoredImage,
  wanted: readonly WantedImage[],
): void {
  for (const name of image.names) {
    const one = { ...image, names: [name] };
    const { tag } = splitReference(name);
    const pins = wanted.flatMap((pin) => {
      const { digest, tag: pinnedTag = tag } = splitReference(pin.image);
      const isPin = digest !== undefined && pinnedTag === tag;
      const names = isPin && isNamed({ ...one, digests: new Set([digest]) }, pin.image);
      return names ? [{ ...pin, digest }] : [];
    });
    const [first] = pins;
    const fits =
      pins.some(({ digest }) => image.digests.has(digest)) ||
      wanted.some((other) => !other.image.includes('@') && isNamed(one, other.image));
    if (first === undefined || fits) continue;
    throw wrongDigest(`${attempted}: ${name}`, image, first.digest, [
      `The profile ${first.profiles.join(', ')} names ${first.image}.`,
    ]);
  }
}

/** @param wanted the digest that it should have */
export function wrongDigest(
  what: string,
  { digests }: StoredImage,
  wanted: string,
  why: readonly string[] = [],
): BerthError {
  return new BerthError(
    'image-digest-wrong',
    `${what} has the digest ${[...digests].join(' ') || 'none'}, and not ${wanted}`,
    {
      hint: [
        ...why,
        'If the archive is the right one, write its digest into the profile. A docker archive has no manifest, so podman computes a digest that no registry has.',
      ].join(' '),
    },
  );
}

/** Whether the image is the one that a reference names. */
function isNamed(image: StoredImage, reference: string): boolean {
  return findImage({ images: [image], layers: new Map() }, reference) !== undefined;
}

/** `NAME from sha256:… to sha256:…` */
export function moveText({ name, from, to }: NameMove): string {
  return `${name} from ${digestText(from)} to ${to === undefined ? 'no image' : digestText(to)}`;
}

function digestText({ id, digests }: StoredImage): string {
  return [...digests][0] ?? `image ${id}`;
}

/** @param hint what to do instead */
export function movesNames(
  attempted: string,
  moves: readonly NameMove[],
  hint: string,
): BerthError {
  return new BerthError(
    'archive-moves-names',
    `${attempted} would make tags point to other images: ${moves.map(moveText).join(', ')}; the store is unchanged`,
    { hint },
  );
}
