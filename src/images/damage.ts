import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { isErrno } from '../errors.ts';
import { type ImageIndex, layersOf, type StoredImage } from './index-file.ts';

/**
 * What is wrong with an image's layers on the disk, one sentence each: the chain of them, the links
 * that overlayfs is given, and each file that the layer's tar had, with its size (tar-split's list,
 * which podman keeps beside the layer). Contents are not read.
 */
export function imageDamage(folder: string, index: ImageIndex, image: StoredImage): string[] {
  return layersOf(index, image).flatMap((id) => {
    if (!index.layers.has(id)) return [`layer ${short(id)} is not in the store`];
    const damage = layerDamage(folder, id);
    return damage === undefined ? [] : [`layer ${short(id)}: ${damage}`];
  });
}

/** What keeps users from reading the image, for everything between / and its layers. */
export function readingProblems(folder: string, index: ImageIndex, image: StoredImage): string[] {
  const above = folder.split('/').map((_, depth, parts) => parts.slice(0, depth + 1).join('/'));
  const layers = layersOf(index, image).map((id) => join(folder, 'overlay', id));
  const folders = [
    ...above.filter((path) => path !== ''),
    ...['overlay', 'overlay/l', 'overlay-images', 'overlay-layers'].map((name) =>
      join(folder, name),
    ),
    join(folder, 'overlay-images', image.id),
    ...layers,
    ...layers.map((layer) => join(layer, 'diff')),
  ];
  const files = [
    ...['overlay-images/images.json', 'overlay-layers/layers.json'],
    ...['overlay-images/images.lock', 'overlay-layers/layers.lock'],
    `overlay-images/${image.id}/manifest`,
  ].map((name) => join(folder, name));
  return [
    ...folders.filter((path) => lacks(path, 0o001)).map((path) => `${path} is closed to users`),
    ...[...files, ...layers.map((layer) => join(layer, 'link'))]
      .filter((path) => lacks(path, 0o004))
      .map((path) => `${path} cannot be read by users`),
  ];
}

/** False for what is not there: that is damage. */
function lacks(path: string, bits: number): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status !== undefined && (status.mode & bits) !== bits;
}

function layerDamage(folder: string, id: string): string | undefined {
  const layer = join(folder, 'overlay', id);
  const diff = join(layer, 'diff');
  try {
    if (!lstatSync(diff).isDirectory()) return 'diff is no folder';
    const links = [readFileSync(join(layer, 'link'), 'utf8'), ...lowerLinks(layer)];
    for (const link of links) statSync(join(folder, 'overlay', link.replace(/^(?!l\/)/, 'l/')));
    const own = links[0]?.trim() ?? '';
    if (readlinkSync(join(folder, 'overlay/l', own)) !== `../${id}/diff`)
      return 'its link leads to another layer';
    return filesDamage(join(folder, 'overlay-layers', `${id}.tar-split.gz`), diff);
  } catch (error) {
    if (isErrno(error)) return `${error.path ?? layer}: ${String(error.code)}`;
    throw error;
  }
}

/** What lies below a layer, as podman wrote it: `l/ABC:l/DEF`. */
function lowerLinks(layer: string): string[] {
  try {
    return readFileSync(join(layer, 'lower'), 'utf8').trim().split(':');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

function filesDamage(list: string, diff: string): string | undefined {
  let entries: readonly TarEntry[];
  try {
    entries = tarEntries(readFileSync(list));
  } catch (error) {
    if (isErrno(error)) throw error;
    return 'its list of files cannot be read';
  }
  const wrong = entries.filter(({ name, size }) => {
    const status = lstatSync(join(diff, name), { throwIfNoEntry: false });
    if (status !== undefined && (size === 0 || status.size === size)) return false;
    return !isBehindLink(diff, name);
  });
  const [first] = wrong;
  if (first === undefined) return undefined;
  const more = wrong.length > 1 ? ` and ${wrong.length - 1} more` : '';
  return `${first.name}${more}: missing or of another size`;
}

/** Unpacked elsewhere, through a link of the image: not found from outside. */
function isBehindLink(diff: string, name: string): boolean {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return parts.slice(0, -1).some((_, depth) =>
    lstatSync(join(diff, ...parts.slice(0, depth + 1)), {
      throwIfNoEntry: false,
    })?.isSymbolicLink(),
  );
}

interface TarEntry {
  readonly name: string;
  /** Bytes; 0 for what has no contents of its own. */
  readonly size: number;
}

/** github.com/vbatts/tar-split, storage.Entry: type 1 is a file of the tar. */
function tarEntries(packed: Uint8Array): TarEntry[] {
  // The last of a name is the one that stays.
  const entries = new Map<string, TarEntry>();
  for (const line of gunzipSync(packed).toString('utf8').split('\n')) {
    if (!line.startsWith('{"type":1,')) continue;
    const { name = '', size = 0 } = JSON.parse(line) as Partial<TarEntry>;
    // Removals of what a lower layer has, and names that are no UTF-8, are not files by that name.
    if (name !== '' && !/(?:^|\/)\.wh\./.test(name)) entries.set(name, { name, size });
  }
  return [...entries.values()];
}

function short(id: string): string {
  return id.slice(0, 12);
}
