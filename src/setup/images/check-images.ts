import { existsSync } from 'node:fs';
import { nearestKey } from '../../config/schema/nearest-key.ts';
import { asBerthError } from '../../system/errors/berth-error.ts';
import { findImage, layersOf, splitReference } from './image-index.ts';
import { type WantedImage, wantedImages } from './wanted-images.ts';
import {
  type CheckResult,
  failed,
  failedWith,
  type Finding,
  ok,
  warning,
} from '../../system/errors/check-result.ts';
import { imageDamage, accessProblems } from './image-damage.ts';
import { type ImageSettings, readIndex, imageStoreDir } from './store-transaction.ts';

export interface ImageCheck extends CheckResult {
  readonly image?: string;
  readonly profiles?: readonly string[];
}

/**
 * Checks each image of the profiles: that it is in the store, has the profile's digest, is complete, and is readable
 * by users. Contacts no registry, changes nothing, needs no root.
 *
 * @param named only these images, whether or not a profile names them
 */
export function checkImages(site: ImageSettings, named: readonly string[] = []): ImageCheck[] {
  const store = imageStoreDir(site);
  const all = wantedImages(site.profiles);
  if (named.length > 0)
    return named.map((image) =>
      checkOf(store, all.find((one) => one.image === image) ?? { image, profiles: [] }),
    );
  const broken = [...site.broken].map(([profile, { error }]): ImageCheck => ({
    id: 'image-profile',
    profiles: [profile],
    ...failedWith(error),
  }));
  if (all.length === 0)
    return [
      ...broken,
      { id: 'image', ...warning('no profile names an image', 'Write a profile.') },
    ];
  return [...broken, ...all.map((one) => checkOf(store, one))];
}

function checkOf(store: string, { image, profiles }: WantedImage): ImageCheck {
  let finding: Finding;
  try {
    finding = imageFinding(store, image);
  } catch (error) {
    finding = failedWith(asBerthError(error, store));
  }
  const of = profiles.length === 0 ? '' : ` (${profiles.join(', ')})`;
  return { id: 'image', image, profiles, ...finding, message: `${image}${of}: ${finding.message}` };
}

const pull =
  'Run `berth images pull`; without a registry: `berth images pull --from-archive FILE`.';

function imageFinding(store: string, image: string): Finding {
  if (!existsSync(store)) return failed(`there is no image store at ${store}`, pull);
  const index = readIndex(store);
  const found = findImage(index, image);
  const { repository, tag, digest } = splitReference(image);
  if (found === undefined) {
    const other =
      digest === undefined ? undefined : findImage(index, `${repository}:${tag ?? 'latest'}`);
    if (other === undefined) {
      const near = nearestKey(
        image,
        index.images.flatMap(({ names }) => names),
      );
      return failed(
        'not in the store',
        near === undefined ? pull : `If you meant ${near}, correct the profile. ${pull}`,
      );
    }
    return failed(`the store has another digest of it, ${[...other.digests].join(' ')}`, pull);
  }
  const [damage, ...more] = imageDamage(store, index, found);
  if (damage !== undefined) {
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return failed(
      `${damage}${others}`,
      'Run `berth images pull`, which pulls damaged images again.',
    );
  }
  const [closed] = accessProblems(store, index, found);
  if (closed !== undefined)
    return failed(closed, 'Give users access (chmod o+x for a directory, o+r for a file).');
  const layers = layersOf(index, found).length;
  const known = `${found.id.slice(0, 12)}, ${layers} ${layers === 1 ? 'layer' : 'layers'}`;
  if (digest === undefined)
    return ok(`${known}, not pinned by a digest: ${[...found.digests][0] ?? 'none'}`);
  return ok(`${known}, ${digest}`);
}
