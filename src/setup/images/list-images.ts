import { imageDamage } from './image-damage.ts';
import { findImage, layersOf, type StoredImage } from './image-index.ts';
import { type ImageSettings, imageStoreDir, readIndex } from './store-transaction.ts';
import { wantedImages } from './wanted-images.ts';

/** An image that a profile names, or that is in the store under this name. What is not known is null. */
export interface ListedImage {
  /** As the profile names it; otherwise the first name in the store, or null. */
  readonly image: string | null;
  /** Of its configuration, 64 hexadecimal digits. */
  readonly id: string | null;
  /** Of its layers when they are unpacked; images can share layers. */
  readonly sizeBytes: number | null;
  /** Those that name it. */
  readonly profiles: readonly string[];
  readonly status: 'complete' | 'damaged' | 'missing';
  /** What is wrong with its layers. */
  readonly damage: readonly string[];
}

/**
 * The images of the profiles, then the others in the store. Contacts no registry, changes nothing, needs no root.
 *
 * @param look as for `imageDamage`
 * @throws {BerthError} `image-store-broken`; system errors
 */
export function listImages(
  site: ImageSettings,
  look?: { readonly files: boolean },
): readonly ListedImage[] {
  const directory = imageStoreDir(site);
  const index = readIndex(directory);
  const listed = (image: string | null, profiles: readonly string[], stored?: StoredImage) => {
    if (stored === undefined)
      return {
        image,
        id: null,
        sizeBytes: null,
        profiles,
        status: 'missing' as const,
        damage: [],
      };
    const sizes = layersOf(index, stored).map((id) => index.layers.get(id)?.sizeBytes ?? 0);
    const damage = imageDamage(directory, index, stored, look);
    return {
      image,
      id: stored.id,
      profiles,
      damage,
      sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
      status: damage.length === 0 ? ('complete' as const) : ('damaged' as const),
    };
  };
  const wanted = wantedImages(site.profiles).map(({ image, profiles }) =>
    listed(image, profiles, findImage(index, image)),
  );
  const named = new Set(wanted.map(({ id }) => id));
  const others = index.images.filter(({ id }) => !named.has(id));
  return [...wanted, ...others.map((stored) => listed(stored.names[0] ?? null, [], stored))];
}
