import { existsSync } from 'node:fs';
import { nearestKey } from '../config/nearest-key.ts';
import { asBerthError } from '../errors.ts';
import { findImage, layersOf, splitReference } from './index-file.ts';
import { type WantedImage, wantedImages } from './wanted-images.ts';
import { type CheckResult, failed, failedBy, type Finding, ok, warning } from '../finding.ts';
import { imageDamage, readingProblems } from './damage.ts';
import { type ImageSite, readIndex, storeFolder } from './store.ts';

export interface ImageCheck extends CheckResult {
  readonly image?: string;
  readonly profiles?: readonly string[];
}

/**
 * Each image that a profile names: in the store, of the digest that the profile has, whole, and
 * readable by users. Asks no registry, changes nothing, needs no root.
 */
export function checkImages(site: ImageSite): ImageCheck[] {
  const folder = storeFolder(site);
  const broken = [...site.broken].map(([profile, { error }]) => ({
    id: 'image-profile',
    profiles: [profile],
    ...failedBy(error),
  }));
  const wanted = wantedImages(site.profiles);
  if (wanted.length === 0)
    return [
      ...broken,
      { id: 'image', ...warning('no profile names an image', 'Write a profile.') },
    ];
  return [
    ...broken,
    ...wanted.map(({ image, profiles }) => {
      const finding = findingOf(folder, { image, profiles });
      const message = `${image} (${profiles.join(', ')}): ${finding.message}`;
      return { id: 'image', image, profiles, ...finding, message };
    }),
  ];
}

function findingOf(folder: string, { image }: WantedImage): Finding {
  try {
    return imageFinding(folder, image);
  } catch (error) {
    return failedBy(asBerthError(error, folder));
  }
}

const pull = 'Run `berth images pull`.';

function imageFinding(folder: string, image: string): Finding {
  if (!existsSync(folder)) return failed(`there is no store ${folder}`, pull);
  const index = readIndex(folder);
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
        near === undefined ? pull : `If ${near} is meant, correct the profile. ${pull}`,
      );
    }
    return failed(`the store has it with another digest, ${[...other.digests].join(' ')}`, pull);
  }
  const [damage, ...more] = imageDamage(folder, index, found);
  if (damage !== undefined) {
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return failed(`${damage}${others}`, 'Run `berth images pull`: it fetches it anew.');
  }
  const [closed] = readingProblems(folder, index, found);
  if (closed !== undefined)
    return failed(closed, 'Open it (chmod o+x on a folder, o+r on a file) up to the store.');
  const layers = layersOf(index, found).length;
  const known = `${found.id.slice(0, 12)}, ${layers} ${layers === 1 ? 'layer' : 'layers'}`;
  if (digest === undefined)
    return ok(`${known}, not pinned by a digest: ${[...found.digests][0] ?? 'none'}`);
  return ok(`${known}, ${digest}`);
}
