import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../errors.ts';

/** What the users' own stores still stand on. */
export interface References {
  /** IDs of images that a container was made of, and of layers that one's own layer lies on. */
  readonly ids: ReadonlySet<string>;
  /** Paths that could not be read though they may be in order: nothing may be taken away then. */
  readonly unknown: readonly string[];
  /** Paths that are not what podman writes: such a store cannot start anything either. */
  readonly broken: readonly string[];
}

/** A store with a thousand containers has 1 MB. */
const largest = 64 * 1024 * 1024;

const lists = [
  'overlay-containers/containers.json',
  'overlay-containers/volatile-containers.json',
  'overlay-layers/layers.json',
  'overlay-layers/volatile-layers.json',
];

/**
 * Reads the lists of containers and layers in `STORAGE/users/UID/storage`. They are the users' files:
 * a link is not followed, and only IDs are taken out of them, so that the worst a user can do is to keep
 * an image in the store, or to lose one's own container.
 */
export function userReferences(storage: string): References {
  const ids = new Set<string>();
  const unknown: string[] = [];
  const broken: string[] = [];
  for (const uid of usersOf(join(storage, 'users'), unknown)) {
    for (const list of lists) {
      const path = join(storage, 'users', uid, 'storage', list);
      try {
        for (const id of idsIn(path)) ids.add(id);
      } catch (error) {
        if (isErrno(error, 'ENOENT')) continue;
        const harmless = !isErrno(error) || isErrno(error, 'ENOTDIR', 'ELOOP', 'ENXIO');
        (harmless ? broken : unknown).push(path);
      }
    }
  }
  return { ids, unknown, broken };
}

function usersOf(folder: string, unknown: string[]): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[0-9]+$/.test(name));
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) unknown.push(folder);
    return [];
  }
}

function* idsIn(path: string): Generator<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.size > largest) throw new TypeError('no list of podman');
    const list: unknown = JSON.parse(readFileSync(descriptor, 'utf8'));
    if (!Array.isArray(list)) throw new TypeError('no list of podman');
    for (const record of list as readonly (Readonly<Record<string, unknown>> | null)[])
      for (const value of [record?.image, record?.parent])
        if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) yield value;
  } finally {
    closeSync(descriptor);
  }
}
