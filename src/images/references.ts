import { closeSync, constants, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../errors.ts';
import { diskErrors, readUserFileSync } from '../system/user-file.ts';
import { longestStoreList } from '../system/stored-containers.ts';

/** What the users' own stores still stand on. */
export interface References {
  /** IDs of images that a container was made of, and of layers that one's own layer lies on. */
  readonly ids: ReadonlySet<string>;
  /** Paths that could not be read though they may be in order: nothing may be taken away then. */
  readonly unknown: readonly string[];
  /** Paths that are not what podman writes: such a store cannot start anything either. */
  readonly broken: readonly string[];
}

const lists = [
  ['overlay-containers', 'containers.json'],
  ['overlay-containers', 'volatile-containers.json'],
  ['overlay-layers', 'layers.json'],
  ['overlay-layers', 'volatile-layers.json'],
] as const;

/**
 * Reads the lists of containers and layers in `STORAGE/users/UID/storage`. They are the users' files:
 * one that is not the user's own is not read, and only IDs are taken out of them, so that the worst a user can do is to keep
 * an image in the store, or to lose one's own container.
 */
export function userReferences(storage: string): References {
  const ids = new Set<string>();
  const unknown: string[] = [];
  const broken: string[] = [];
  for (const uid of usersOf(join(storage, 'users'), unknown)) {
    for (const [folder, list] of lists) {
      const own = join(storage, 'users', uid);
      try {
        for (const id of idsIn(own, ['storage', folder], list, Number(uid))) ids.add(id);
      } catch (error) {
        (isUnknown(error) ? unknown : broken).push(join(own, 'storage', folder, list));
      }
    }
  }
  return { ids, unknown, broken };
}

/** Root is refused only what a user hides from it; who is not root is refused every list. */
function isUnknown(error: unknown): boolean {
  const refusals = process.geteuid?.() === 0 ? [] : ['EACCES', 'EPERM'];
  return [error, (error as Error).cause].some((one) => isErrno(one, ...diskErrors, ...refusals));
}

function usersOf(folder: string, unknown: string[]): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[0-9]+$/.test(name));
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) unknown.push(folder);
    return [];
  }
}

function* idsIn(
  own: string,
  folders: readonly string[],
  list: string,
  uid: number,
): Generator<string> {
  const text = readBelow(own, folders, list, uid);
  if (text === undefined) return;
  const records: unknown = JSON.parse(text.toString('utf8'));
  if (!Array.isArray(records)) throw new TypeError('no list of podman');
  for (const record of records as readonly (Readonly<Record<string, unknown>> | null)[])
    for (const value of [record?.image, record?.parent])
      if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) yield value;
}

/**
 * No directory on the way may be a symlink: by /proc/PID/root it would lead into a mount namespace of the
 * user's, where a file system of theirs can answer root with any error, or never.
 */
function readBelow(
  own: string,
  folders: readonly string[],
  file: string,
  uid: number,
): Buffer | undefined {
  let descriptor = openSync(own, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const folder of folders) {
      const below = openSync(`/proc/self/fd/${descriptor}/${folder}`, ownFolder);
      closeSync(descriptor);
      descriptor = below;
    }
    const path = `/proc/self/fd/${descriptor}/${file}`;
    return readUserFileSync(path, { uid, maximumBytes: longestStoreList });
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

const ownFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
