import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError, isErrno } from '../errors/berth-error.ts';
import { findImage, type ImageIndex, layersOf, type StoredImage } from './image-index.ts';
import { removeArgs, wantedImages } from './wanted-images.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { podmanOnStore } from './podman-on-store.ts';
import { userReferences } from './store-references.ts';
import {
  type ImageSettings,
  type StoreTransaction,
  readIndex,
  imageStoreDir,
  withOpenStore,
} from './store-transaction.ts';

export interface GcOptions {
  /** How long an image stays after the first run that found it in no profile. Seconds. */
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
  /** `named`: in a profile. `used`: by a user's container. `grace`: in no profile, but not for long enough. */
  readonly verdict: 'named' | 'used' | 'grace' | 'remove';
  /** With `grace`: seconds since the epoch. */
  readonly until?: number;
}

export interface GcResult {
  readonly images: readonly GcImage[];
  readonly warnings: readonly string[];
}

/**
 * Removes images from the shared store that are in no profile and used by no user's container, once that has been so
 * for the grace time. By then a login that read an older profile has started its container.
 *
 * @throws {BerthError} `gc-profile-invalid`, `gc-users-unreadable`; the errors of `withOpenStore` and `podmanOnStore`
 */
export async function collectImages(site: ImageSettings, options: GcOptions): Promise<GcResult> {
  const [broken] = site.broken;
  if (broken !== undefined) {
    const [profile, { error }] = broken;
    throw new BerthError(
      `profile ${profile} is invalid, so it is not known which image it needs: ${error.message}`,
      { code: 'gc-profile-invalid', hint: error.hint, fields: error.fields, cause: error },
    );
  }
  if (options.dryRun) {
    const directory = imageStoreDir(site);
    return judge(site, readIndex(directory), await firstSeen(directory), options);
  }
  const { timeoutMs: waitMs } = options;
  return await withOpenStore(site, { waitMs, removing: true }, (store) =>
    collect(site, store, options),
  );
}

async function collect(
  site: ImageSettings,
  store: StoreTransaction,
  options: GcOptions,
): Promise<GcResult> {
  const seen = await firstSeen(store.directory);
  const result = judge(site, store.index(), seen, options);
  const gone = result.images.filter(({ verdict }) => verdict === 'remove').map(({ id }) => id);
  if (gone.length > 0) {
    const run = { env: options.env, signal: AbortSignal.timeout(options.timeoutMs) };
    await podmanOnStore(site.podman, store.work, removeArgs(gone), 'images gc', run);
    await store.publish();
  }
  const waiting = result.images.filter(({ verdict }) => verdict === 'grace' || verdict === 'used');
  const notes = waiting.map(({ id }) => [id, seen.get(id) ?? options.now]);
  const text = `${JSON.stringify(Object.fromEntries(notes))}\n`;
  await writeAtomically(join(store.directory, notesName), text, { mode: 0o600 });
  return result;
}

function judge(
  site: ImageSettings,
  index: ImageIndex,
  seen: ReadonlyMap<string, number>,
  { graceSeconds, now }: GcOptions,
): GcResult {
  const { ids, unknown, broken } = userReferences(site.storage);
  const [first] = unknown;
  if (first !== undefined)
    throw new BerthError(
      `could not read ${first}, so it is not known which images the containers of the user who owns that storage need`,
      { code: 'gc-users-unreadable', fields: { file: first } },
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
    (path) => `${path} was not written by podman: images of its owner's containers may be removed`,
  );
  return { images, warnings };
}

/** The record of a container names the image; the parent of a container's layer is the image's topmost layer. */
function isUsed(index: ImageIndex, image: StoredImage, ids: ReadonlySet<string>): boolean {
  return ids.has(image.id) || layersOf(index, image).some((layer) => ids.has(layer));
}

const notesName = '.unnamed.json';

/** By image: when it was first found in no profile. Seconds since the epoch. */
async function firstSeen(directory: string): Promise<Map<string, number>> {
  try {
    const notes: unknown = JSON.parse(await readFile(join(directory, notesName), 'utf8'));
    return new Map(Object.entries(notes ?? {}).filter(([, at]) => typeof at === 'number'));
  } catch (error) {
    // If the file is missing or truncated, the grace time starts again.
    if (isErrno(error, 'ENOENT', 'EACCES') || error instanceof SyntaxError) return new Map();
    throw error;
  }
}
