import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { BerthError, isErrno } from './errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { writeAtomically } from './atomic-file.ts';
import { makeIfMissing } from './if-present.ts';
import { O_PATH, whileOpen } from './path-descriptor.ts';
import { readAtMostSync } from './user-file.ts';

/** Bytes of a file that is read: some times what Berth ever writes. */
const largestFile = 16 * 1024 * 1024;

/** The kernel's limit (path_resolution(7)). */
const mostLinks = 40;

/**
 * A directory that other users may be able to write, and what is in it. Each directory stays open, and names are resolved
 * in the open one, as openat(2) does: what others rename or link meanwhile leads no write and no removal outside.
 */
export class DirectoryTree {
  readonly #path: string;
  /** By path below the directory. */
  readonly #opened = new Map<string, number>();

  /**
   * Opens the directory, and makes it if only its last part is missing. Symlinks on the way are followed where only root or
   * the caller can have put them.
   *
   * @param path absolute
   * @throws {BerthError} `site-directory-unsafe`; system errors
   */
  constructor(path: string) {
    this.#path = path;
    this.#opened.set('', openFromRoot(path));
  }

  /**
   * The text of a regular file; undefined if there is none.
   *
   * @param path in the directory, without `.` and `..`
   * @param trusted nothing is read of a file that others can write, or that neither root nor the caller owns
   * @throws {BerthError} `site-directory-unsafe`; system errors
   */
  read(path: string, trusted = false): string | undefined {
    const entry = this.#entry(path, false);
    if (entry === undefined) return undefined;
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
    try {
      const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
      return whileOpen(openSync(entry, flags), (file) => {
        const status = fstatSync(file);
        if (!status.isFile() || status.size > largestFile) throw unsafe(this.#shown(path));
        if (trusted && !isTrusted(status)) return undefined;
        return readAtMostSync(file, status.size).toString('utf8');
      });
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      // A symlink; a socket.
      if (isErrno(error, 'ELOOP', 'ENXIO')) throw unsafe(this.#shown(path));
      throw error;
    }
  }

  /** Replaces a file atomically, for all to read. Missing directories are made. @throws as `read` and `writeAtomically` */
  async write(path: string, text: string): Promise<void> {
    const shownAs = this.#shown(path);
    const entry = this.#entry(path, true);
    if (entry === undefined) throw unsafe(shownAs);
    await writeAtomically(entry, text, { mode: 0o644, shownAs });
  }

  /** Removes a file. @throws as `read` */
  remove(path: string): void {
    const entry = this.#entry(path, false);
    if (entry !== undefined) unlinkSync(entry);
  }

  close(): void {
    for (const descriptor of this.#opened.values()) closeSync(descriptor);
    this.#opened.clear();
  }

  /** A path of it through the open directory that it is in; undefined if that is missing, and is not to be made. */
  #entry(path: string, make: boolean): string | undefined {
    const names = path.split('/');
    if (names.some((name) => ['', '.', '..'].includes(name))) throw unsafe(this.#shown(path));
    const directory = this.#directory(names.slice(0, -1), make);
    return directory === undefined ? undefined : entryOf(directory, names.at(-1) ?? '');
  }

  #directory(names: readonly string[], make: boolean): number | undefined {
    const path = names.join('/');
    const known = this.#opened.get(path);
    if (known !== undefined) return known;
    const above = this.#directory(names.slice(0, -1), make);
    if (above === undefined) return undefined;
    const entry = entryOf(above, names.at(-1) ?? '');
    try {
      if (make) makeIfMissing(entry, 0o755);
      const descriptor = openDirectory(entry);
      this.#opened.set(path, descriptor);
      return descriptor;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      if (isErrno(error, 'ENOTDIR', 'ELOOP')) throw unsafe(this.#shown(path));
      throw error;
    }
  }

  #shown(path: string): string {
    return `${this.#path}/${path}`;
  }
}

/** Closes the directory after the work. @throws as `DirectoryTree` */
export async function inDirectory<T>(
  path: string,
  work: (tree: DirectoryTree) => Promise<T>,
): Promise<T> {
  const tree = new DirectoryTree(path);
  try {
    return await work(tree);
  } finally {
    tree.close();
  }
}

function entryOf(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

function openDirectory(path: string): number {
  return openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

function openFromRoot(path: string): number {
  const names = path.split('/');
  let directory = openDirectory('/');
  let links = 0;
  try {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      if (name === '' || name === '.') continue;
      const entry = entryOf(directory, name);
      const status = lstatSync(entry, { throwIfNoEntry: false });
      let next: number;
      if (status?.isSymbolicLink() === true) {
        if (!isTrusted(fstatSync(directory), status) || links === mostLinks) throw unsafe(path);
        links += 1;
        const target = readlinkSync(entry);
        names.unshift(...target.split('/'));
        if (!target.startsWith('/')) continue;
        next = openDirectory('/');
      } else {
        if (names.every((one) => one === '')) makeIfMissing(entry, 0o755);
        next = openDirectory(entry);
      }
      closeSync(directory);
      directory = next;
    }
    return directory;
  } catch (error) {
    closeSync(directory);
    if (isErrno(error, 'ENOTDIR', 'ELOOP')) throw unsafe(path);
    throw error;
  }
}

/** Whether only root or the caller can have put the symlink there, and replace it. A file is judged as both. */
function isTrusted(directory: Stats, link = directory): boolean {
  const own = [0, process.geteuid?.()];
  const { mode } = directory;
  return (
    own.includes(directory.uid) &&
    own.includes(link.uid) &&
    ((mode & 0o022) === 0 || (mode & 0o1000) !== 0)
  );
}

function unsafe(path: string): BerthError {
  return new BerthError(
    'site-directory-unsafe',
    `${escapeControl(path)} is, or leads through, a symlink that is not followed, or is no regular file or directory, or larger than 16 MiB`,
  );
}
