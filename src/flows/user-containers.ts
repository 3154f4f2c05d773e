import { open } from 'node:fs/promises';
import { constants } from 'node:fs';
import { BerthError, isErrno } from '../errors.ts';
import type { Credentials } from '../system/as-user.ts';
import { brieflyAsUser } from './briefly-as-user.ts';

/** A container as the user's store lists it, running or not. */
export interface StoredContainer {
  readonly id: string;
  /** The first of its names; '' for one without. */
  readonly name: string;
  /** Milliseconds since the epoch; 0 where the store does not say. */
  readonly created: number;
}

const largest = 16 * 1024 * 1024;

/**
 * The containers of containers/storage's own list, which podman keeps whether they run or not, and for
 * what a killed podman left half made. Read with the user's rights: what lies in the user's folder leads
 * nowhere that the user could not go. No podman is started, which would cost a quarter of a second and
 * leave a process.
 *
 * @param folder The user's own below the storage.
 * @throws `store-unreadable`
 */
export async function storedContainers(
  folder: string,
  user: Credentials,
): Promise<readonly StoredContainer[]> {
  const path = `${folder}/storage/overlay-containers/containers.json`;
  const text = await brieflyAsUser(user, () => readBounded(path));
  if (text === undefined || text.trim() === '') return [];
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (cause) {
    throw unreadable(path, 'it is no JSON', cause);
  }
  if (!Array.isArray(list)) throw unreadable(path, 'it is no list');
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

async function readBounded(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return undefined;
    throw unreadable(path, isErrno(cause) ? String(cause.code) : String(cause), cause);
  }
  try {
    const status = await file.stat();
    if (!status.isFile()) throw unreadable(path, 'it is no file');
    if (status.size > largest) throw unreadable(path, `it has ${status.size} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function unreadable(path: string, why: string, cause?: unknown): BerthError {
  return new BerthError(`the list of containers cannot be read: ${why}`, {
    code: 'store-unreadable',
    exit: 'io',
    hint: `Look at ${path}; podman keeps it.`,
    fields: { file: path },
    cause,
  });
}
