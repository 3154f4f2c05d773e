import { BerthError, expectBerthError, isErrno, messageOf } from './errors/berth-error.ts';
import { asUserThenRoot, type Credentials } from './as-user.ts';
import { diskErrors, existsOnMount, readOnMount } from './user-file.ts';

/** A container in the user's storage, running or not. */
export interface StoredContainer {
  readonly id: string;
  /** The first of its names; '' if it has none. */
  readonly name: string;
  /** Milliseconds since the epoch; 0 if unknown. */
  readonly created: number;
}

/** In bytes. A list of a thousand containers or layers has 1 MB. Parsed JSON can take twenty times as much memory. */
export const maxStoreListBytes = 4 * 1024 * 1024;

/**
 * The containers in containers/storage's list, including stopped ones and those that a killed podman left incomplete. The
 * list is read with the user's permissions, because it is in a directory of the user. Podman is not started: it would take
 * a quarter of a second and leave a process.
 *
 * @param directory the user's directory in the storage
 * @throws {BerthError} `container-store-unreadable`, `container-store-broken`
 */
export async function storedContainers(
  directory: string,
  user: Credentials,
): Promise<readonly StoredContainer[]> {
  const path = `${directory}/storage/overlay-containers/containers.json`;
  const demands = { uid: user.uid, maximumBytes: maxStoreListBytes };
  let text: string | undefined;
  try {
    // Without a change of credentials where all sessions run elsewhere: in pods, or in jobs.
    if (!existsOnMount(directory, ['storage'])) return [];
    const names = ['storage', 'overlay-containers', 'containers.json'];
    const read = () => Promise.resolve(readOnMount(directory, names, demands));
    text = (await asUserThenRoot(user, read))?.toString('utf8');
  } catch (error) {
    expectBerthError(error);
    throw isErrno(error.cause, ...diskErrors)
      ? new BerthError(
          'container-store-unreadable',
          `the list of containers cannot be read: ${error.message}`,
          {
            fields: { file: path },
            cause: error,
          },
        )
      : broken(path, error);
  }
  if (text === undefined || text.trim() === '') return [];
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (cause) {
    throw broken(path, cause);
  }
  if (!Array.isArray(list)) throw broken(path, new Error('it is not a list'));
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

/** The user has changed the list, or the disk was full: podman does not write such a list. */
function broken(path: string, cause: unknown): BerthError {
  return new BerthError(
    'container-store-broken',
    `podman's list of containers is damaged: ${messageOf(cause)}`,
    {
      hint: `When the user has no session, run as root: rm -rf ${path.replace(/\/overlay-containers\/.*/, '')}. The next login recreates it.`,
      fields: { file: path },
      cause,
    },
  );
}
