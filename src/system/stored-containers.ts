import { BerthError, isErrno } from '../errors.ts';
import type { Credentials } from './as-user.ts';
import { diskErrors, readUserFile } from './user-file.ts';
import { brieflyAsUser } from './briefly-as-user.ts';

/** A container as the user's store lists it, running or not. */
export interface StoredContainer {
  readonly id: string;
  /** The first of its names; '' for one without. */
  readonly name: string;
  /** Milliseconds since the epoch; 0 where the store does not say. */
  readonly created: number;
}

/**
 * Bytes. A list of a thousand containers or layers has 1 MB; what JSON can make of a file in memory is
 * twenty times as much.
 */
export const longestStoreList = 4 * 1024 * 1024;

/**
 * The containers of containers/storage's own list, which podman keeps whether they run or not, and for
 * what a killed podman left half made. Read with the user's rights: what lies in the user's folder leads
 * nowhere that the user could not go. No podman is started, which would cost a quarter of a second and
 * leave a process.
 *
 * @param folder The user's own below the storage.
 * @throws `container-store-unreadable`, `container-store-broken`
 */
export async function storedContainers(
  folder: string,
  user: Credentials,
): Promise<readonly StoredContainer[]> {
  const path = `${folder}/storage/overlay-containers/containers.json`;
  const demands = { uid: user.uid, maximumBytes: longestStoreList };
  let text: string | undefined;
  try {
    text = (await brieflyAsUser(user, () => readUserFile(path, demands)))?.toString('utf8');
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    throw isErrno(error.cause, ...diskErrors) ? unreadable(path, error) : broken(path, error);
  }
  if (text === undefined || text.trim() === '') return [];
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (cause) {
    throw broken(path, cause);
  }
  if (!Array.isArray(list)) throw broken(path, new Error('it is no list'));
  return list.flatMap(containerOf);
}

function containerOf(entry: unknown): StoredContainer[] {
  const { id, names, created } = (entry ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || !/^[0-9a-f]{64}$/.test(id)) return [];
  const name: unknown = Array.isArray(names) ? names[0] : undefined;
  const time = typeof created === 'string' ? Date.parse(created) : Number.NaN;
  return [
    {
      id,
      name: typeof name === 'string' ? name : '',
      created: Number.isNaN(time) ? 0 : time,
    },
  ];
}

function unreadable(path: string, cause: Error): BerthError {
  return new BerthError(`the list of containers cannot be read: ${cause.message}`, {
    code: 'container-store-unreadable',
    exit: 'io',
    hint: `Look at ${path}; podman keeps it.`,
    fields: { file: path },
    cause,
  });
}

/** Podman never writes such a list: the user did, or a disk that was full. */
function broken(path: string, cause: unknown): BerthError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BerthError(`podman's list of containers is damaged: ${why}`, {
    code: 'container-store-broken',
    exit: 'io',
    hint: `When the user has no session, as root: rm -rf ${path.replace(/\/overlay-containers\/.*/, '')}. The next login recreates it.`,
    fields: { file: path },
    cause,
  });
}
