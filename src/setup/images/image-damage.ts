import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expectErrno, isErrno } from '../../system/errors/berth-error.ts';
import { unlessMissing } from '../../system/if-present.ts';
import { type ImageIndex, layersOf, type StoredImage } from './image-index.ts';

/**
 * Finds damage of an image's layers on disk, one sentence each: missing layers, wrong links for overlayfs, and files
 * that are missing or have another size than in the layer's tar (podman keeps tar-split's list beside the layer).
 * Contents are not read.
 *
 * @param files false: does not look at each file, so that an image of any size takes about a millisecond
 */
export function imageDamage(
  store: string,
  index: ImageIndex,
  image: StoredImage,
  { files } = { files: true },
): string[] {
  return layersOf(index, image).flatMap((id) => {
    if (!index.layers.has(id)) return [`layer ${short(id)} is not in the store`];
    const damage = layerDamage(store, id, files);
    return damage === undefined ? [] : [`layer ${short(id)}: ${damage}`];
  });
}

/** Finds paths between / and the image's layers that users have no access to. */
export function accessProblems(store: string, index: ImageIndex, image: StoredImage): string[] {
  const above = store.split('/').map((_, depth, parts) => parts.slice(0, depth + 1).join('/'));
  const layers = layersOf(index, image).map((id) => join(store, 'overlay', id));
  const directories = [
    ...above.filter((path) => path !== ''),
    ...['overlay', 'overlay/l', 'overlay-images', 'overlay-layers'].map((name) =>
      join(store, name),
    ),
    join(store, 'overlay-images', image.id),
    ...layers,
    ...layers.map((layer) => join(layer, 'diff')),
  ];
  const files = [
    'overlay-images/images.json',
    'overlay-layers/layers.json',
    'overlay-images/images.lock',
    'overlay-layers/layers.lock',
    `overlay-images/${image.id}/manifest`,
  ].map((name) => join(store, name));
  return [
    ...directories.filter((path) => lacks(path, 0o001)).map((path) => `users cannot enter ${path}`),
    ...[...files, ...layers.map((layer) => join(layer, 'link'))]
      .filter((path) => lacks(path, 0o004))
      .map((path) => `users cannot read ${path}`),
  ];
}

/** False if it does not exist, which `imageDamage` reports. */
function lacks(path: string, bits: number): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status !== undefined && (status.mode & bits) !== bits;
}

function layerDamage(store: string, id: string, files: boolean): string | undefined {
  const layer = join(store, 'overlay', id);
  const diff = join(layer, 'diff');
  try {
    if (!lstatSync(diff).isDirectory()) return 'diff is not a directory';
    const links = [readFileSync(join(layer, 'link'), 'utf8'), ...lowerLinks(layer)];
    for (const link of links) statSync(join(store, 'overlay', link.replace(/^(?!l\/)/, 'l/')));
    const own = links[0]?.trim() ?? '';
    if (readlinkSync(join(store, 'overlay/l', own)) !== `../${id}/diff`)
      return 'its link leads to another layer';
    const list = join(store, 'overlay-layers', `${id}.tar-split.gz`);
    return files ? filesDamage(list, diff) : undefined;
  } catch (error) {
    expectErrno(error);
    return `${error.path ?? layer}: ${String(error.code)}`;
  }
}

/** The layers below a layer, as podman wrote them: `l/ABC:l/DEF`. */
function lowerLinks(layer: string): string[] {
  const text = unlessMissing(() => readFileSync(join(layer, 'lower'), 'utf8'));
  return text?.trim().split(':') ?? [];
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

/** Whether the file was unpacked through a symbolic link of the image, so that it is not found at this path. */
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
  /** Bytes; 0 for entries without contents. */
  readonly size: number;
}

/** github.com/vbatts/tar-split, storage.Entry: type 1 is a file of the tar. */
function tarEntries(packed: Uint8Array): TarEntry[] {
  // The last entry of a name is the one that remains.
  const entries = new Map<string, TarEntry>();
  for (const line of gunzipSync(packed).toString('utf8').split('\n')) {
    if (!line.startsWith('{"type":1,')) continue;
    const { name = '', size = 0 } = JSON.parse(line) as Partial<TarEntry>;
    // Whiteouts, and names that are not UTF-8, do not exist under these names.
    if (name !== '' && !/(?:^|\/)\.wh\./.test(name)) entries.set(name, { name, size });
  }
  return [...entries.values()];
}

function short(id: string): string {
  return id.slice(0, 12);
}
