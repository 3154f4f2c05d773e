import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError, isErrno } from '../errors.ts';
import { findImage, type ImageIndex, layersOf, type StoredImage } from './index-file.ts';
import { removeWords, wantedImages } from './wanted-images.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { podmanOnStore } from './podman.ts';
import { userReferences } from './references.ts';
import { type ImageSite, type OpenStore, readIndex, storeFolder, withOpenStore } from './store.ts';

export interface GcOptions {
  /** Seconds that an image stays after the first look that found it named by no profile. */
  readonly graceSeconds: number;
  readonly dryRun: boolean;
  /** Seconds since the epoch. */
  readonly now: number;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface GcImage {
  readonly id: string;
  readonly names: readonly string[];
  /** `named`: by a profile. `used`: by a user's container. `grace`: not long enough without a name. */
  readonly verdict: 'named' | 'used' | 'grace' | 'remove';
  /** With `grace`: seconds since the epoch. */
  readonly until?: number;
}

export interface GcResult {
  readonly images: readonly GcImage[];
  readonly warnings: readonly string[];
}

/**
 * Removes from the shared store what no profile names, no user's container stands on, and has been so
 * for the grace time: a login that chose the image from a profile of just now has long started by then.
 *
 * @throws `gc-profile-broken`, `gc-users-unreadable`; as `withOpenStore` and `podmanOnStore`
 */
export async function collectImages(site: ImageSite, options: GcOptions): Promise<GcResult> {
  const [profile] = site.broken.keys();
  if (profile !== undefined)
    throw new BerthError(`profile ${profile} cannot be read, so its image is not known`, {
      code: 'gc-profile-broken',
      exit: 'config',
      hint: 'Mend or remove the profile: `berth images check` says what is wrong with it.',
    });
  if (options.dryRun) {
    const folder = storeFolder(site);
    return judge(site, readIndex(folder), await firstSeen(folder), options);
  }
  const { timeoutMs: waitMs } = options;
  return await withOpenStore(site, { waitMs, removing: true }, (store) =>
    collect(site, store, options),
  );
}

async function collect(site: ImageSite, store: OpenStore, options: GcOptions): Promise<GcResult> {
  const seen = await firstSeen(store.folder);
  const result = judge(site, store.index(), seen, options);
  const gone = result.images.filter(({ verdict }) => verdict === 'remove').map(({ id }) => id);
  if (gone.length > 0) {
    const run = { env: options.env, signal: AbortSignal.timeout(options.timeoutMs) };
    await podmanOnStore(site.podman, store.work, removeWords(gone), 'images gc', run);
    await store.publish();
  }
  const waiting = result.images.filter(({ verdict }) => verdict === 'grace' || verdict === 'used');
  const notes = waiting.map(({ id }) => [id, seen.get(id) ?? options.now]);
  const text = `${JSON.stringify(Object.fromEntries(notes))}\n`;
  await writeAtomically(join(store.folder, notesName), text, { mode: 0o600 });
  return result;
}

function judge(
  site: ImageSite,
  index: ImageIndex,
  seen: ReadonlyMap<string, number>,
  { graceSeconds, now }: GcOptions,
): GcResult {
  const { ids, unknown, broken } = userReferences(site.storage);
  const [first] = unknown;
  if (first !== undefined)
    throw new BerthError(
      `${first} cannot be read, so what the user's containers need is not known`,
      {
        code: 'gc-users-unreadable',
        exit: 'io',
        hint: 'Run it as root, and look at the disk.',
        fields: { file: first },
      },
    );
  const named = new Set(
    wantedImages(site.profiles).map(({ image }) => findImage(index, image)?.id),
  );
  const images = index.images.map((image): GcImage => {
    const { id, names } = image;
    const until = (seen.get(id) ?? now) + graceSeconds;
    if (named.has(id)) return { id, names, verdict: 'named' };
    if (isUsed(index, image, ids)) return { id, names, verdict: 'used' };
    return until > now ? { id, names, verdict: 'grace', until } : { id, names, verdict: 'remove' };
  });
  const warnings = broken.map(
    (path) => `${path} is not what podman writes: its owner's containers keep no image`,
  );
  return { images, warnings };
}

/** A container's record names the image; its layer lies on the image's topmost. */
function isUsed(index: ImageIndex, image: StoredImage, ids: ReadonlySet<string>): boolean {
  return ids.has(image.id) || layersOf(index, image).some((layer) => ids.has(layer));
}

const notesName = '.unnamed.json';

/** By image, when it was first found without a name: seconds since the epoch. */
async function firstSeen(folder: string): Promise<Map<string, number>> {
  try {
    const notes: unknown = JSON.parse(await readFile(join(folder, notesName), 'utf8'));
    return new Map(Object.entries(notes ?? {}).filter(([, at]) => typeof at === 'number'));
  } catch (error) {
    // Without the notes, or with half of them, the grace begins anew.
    if (isErrno(error, 'ENOENT', 'EACCES') || error instanceof SyntaxError) return new Map();
    throw error;
  }
}
