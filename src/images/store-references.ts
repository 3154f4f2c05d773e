import { closeSync, constants, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../errors/berth-error.ts';
import { diskErrors, readUserFileSync } from '../system/user-file.ts';
import { maxStoreListBytes } from '../system/stored-containers.ts';

/** What users' own stores depend on. */
export interface StoreReferences {
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
  const text = readBelow(own, directories, list, uid);
  if (text === undefined) return;
  const records: unknown = JSON.parse(text.toString('utf8'));
  if (!Array.isArray(records)) throw new TypeError('not a list that podman wrote');
  for (const record of records as readonly (Readonly<Record<string, unknown>> | null)[])
    for (const value of [record?.image, record?.parent])
      if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) yield value;
}

/**
 * No directory in the path may be a symbolic link: through /proc/PID/root it could lead into a mount namespace of the
 * user, where a file system of the user can return any error to root, or never answer.
 */
function readBelow(
  own: string,
  directories: readonly string[],
  file: string,
  uid: number,
): Buffer | undefined {
  let descriptor = openSync(own, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const name of directories) {
      const below = openSync(`/proc/self/fd/${descriptor}/${name}`, ownDirectory);
      closeSync(descriptor);
      descriptor = below;
    }
    const path = `/proc/self/fd/${descriptor}/${file}`;
    return readUserFileSync(path, { uid, maximumBytes: maxStoreListBytes });
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

const ownDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
