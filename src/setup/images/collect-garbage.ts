import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError, isErrno } from '../../system/errors/berth-error.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { maxStoreListBytes } from '../../system/stored-containers.ts';
import { diskErrors, readOnMount } from '../../system/user-file.ts';
import { findImage, type ImageIndex, layersOf } from './image-index.ts';
import { podmanOnStore } from './podman-on-store.ts';
import {
  type ImageSettings,
  imageStoreDir,
  readIndex,
  type StoreTransaction,
  withOpenStore,
} from './store-transaction.ts';
import { removeArgs, wantedImages } from './wanted-images.ts';

export interface GcOptions {
  /** How long an image stays after the first run that found it in no profile. Seconds. */
  readonly graceSeconds: number;
  readonly dryRun: boolean;
  /** Seconds since the epoch. */
  readonly now: number;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly env: Readonly<NodeJS.ProcessEnv>;
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
      'gc-profile-invalid',
      `profile ${profile} is invalid, so it is not known which image it needs: ${error.message}`,
      { hint: error.hint, fields: error.fields, cause: error },
    );
  }
  if (options.dryRun) {
    const directory = imageStoreDir(site);
    return judge(site, readIndex(directory), await firstSeen(directory), options);
  }
  const { timeoutMs } = options;
  return await withOpenStore(site, { timeoutMs, removing: true }, (store) =>
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
      'gc-users-unreadable',
      `no image was removed: could not read ${first}, the list of one user's containers, which may need any image`,
      { fields: { file: first } },
    );
  const named = new Set(
    wantedImages(site.profiles).map(({ image }) => findImage(index, image)?.id),
  );
  const images = index.images.map((image): GcImage => {
    const { id, names } = image;
    const until = (seen.get(id) ?? now) + graceSeconds;
    if (named.has(id)) return { id, names, verdict: 'named' };
    // The record of a container names the image; the parent of a container's layer is the image's topmost layer.
    if (ids.has(image.id) || layersOf(index, image).some((layer) => ids.has(layer)))
      return { id, names, verdict: 'used' };
    return until > now ? { id, names, verdict: 'grace', until } : { id, names, verdict: 'remove' };
  });
  const warnings = broken.map(
    (path) => `${path} was not written by podman: images of its owner's containers may be removed`,
  );
  return { images, warnings };
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

/** What users' own stores depend on. */
interface StoreReferences {
  /** IDs of images that containers were made from, and of layers below layers of containers. */
  readonly ids: ReadonlySet<string>;
  /** Paths that could not be read and may be in order. While there are any, nothing may be removed. */
  readonly unknown: readonly string[];
  /** Paths that podman cannot have written: such a store cannot start a container. */
  readonly broken: readonly string[];
}

const lists = [
  ['overlay-containers', 'containers.json'],
  ['overlay-containers', 'volatile-containers.json'],
  ['overlay-layers', 'layers.json'],
  ['overlay-layers', 'volatile-layers.json'],
] as const;

/**
 * Reads the lists of containers and layers in `STORAGE/users/UID/storage`. Users can write these files, so a file that
 * does not belong to the user is not read, and only IDs are used. The worst that users can do is keep an image in the
 * store, or lose their own containers.
 */
export function userReferences(storage: string): StoreReferences {
  const ids = new Set<string>();
  const unknown: string[] = [];
  const broken: string[] = [];
  for (const uid of usersOf(join(storage, 'users'), unknown)) {
    for (const [directory, list] of lists) {
      const own = join(storage, 'users', uid);
      try {
        for (const id of idsIn(own, ['storage', directory], list, Number(uid))) ids.add(id);
      } catch (error) {
        (isUnknown(error) ? unknown : broken).push(join(own, 'storage', directory, list));
      }
    }
  }
  return { ids, unknown, broken };
}

/** Whether the file may be in order. Root has no access only if a user hides a file from it. */
function isUnknown(error: unknown): boolean {
  const refusals = process.geteuid?.() === 0 ? [] : ['EACCES', 'EPERM'];
  return [error, (error as Error).cause].some((one) => isErrno(one, ...diskErrors, ...refusals));
}

function usersOf(directory: string, unknown: string[]): string[] {
  try {
    return readdirSync(directory).filter((name) => /^[0-9]+$/.test(name));
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) unknown.push(directory);
    return [];
  }
}

function* idsIn(
  own: string,
  directories: readonly string[],
  list: string,
  uid: number,
): Generator<string> {
  const demands = { uid, maximumBytes: maxStoreListBytes };
  const text = readOnMount(own, [...directories, list], demands);
  if (text === undefined) return;
  const records: unknown = JSON.parse(text.toString('utf8'));
  if (!Array.isArray(records)) throw new TypeError('not a list that podman wrote');
  for (const record of records as readonly (Readonly<Record<string, unknown>> | null)[])
    for (const value of [record?.image, record?.parent])
      if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) yield value;
}
