import { BerthError } from '../../system/errors/berth-error.ts';

/** The index of an image store: `overlay-images/images.json` and `overlay-layers/layers.json`. */
export interface ImageIndex {
  readonly images: readonly StoredImage[];
  /** By ID. */
  readonly layers: ReadonlyMap<string, StoredLayer>;
}

export interface StoredImage {
  /** 64 hexadecimal digits. */
  readonly id: string;
  /** With registry: `docker.io/library/debian:12`, `registry.example/site@sha256:…`. */
  readonly names: readonly string[];
  /** Digests of all manifests of this image, `sha256:…`. */
  readonly digests: ReadonlySet<string>;
  /** ID of the topmost layer; absent for an image FROM scratch without files. */
  readonly layer?: string;
}

export interface StoredLayer {
  readonly id: string;
  readonly parent?: string;
  /** Unpacked. */
  readonly sizeBytes: number;
}

const idPattern = /^[0-9a-f]{64}$/;

/**
 * Parses the index.
 *
 * @throws {BerthError} `image-store-broken` if podman cannot have written a text (containers/storage, images.go and
 *   layers.go)
 */
export function parseImageIndex(images: string, layers: string, directory: string): ImageIndex {
  const stored = records(images, 'overlay-images/images.json', directory).map(imageOf);
  const all = records(layers, 'overlay-layers/layers.json', directory).map(layerOf);
  return { images: stored, layers: new Map(all.map((layer) => [layer.id, layer])) };
}

/** IDs of the image's layers, topmost first. Images can share layers. */
export function layersOf({ layers }: ImageIndex, image: StoredImage): readonly string[] {
  const chain = new Set<string>();
  let id = image.layer;
  // Ends if the chain has a loop.
  while (id !== undefined && !chain.has(id)) {
    chain.add(id);
    id = layers.get(id)?.parent;
  }
  return [...chain];
}

/**
 * The image that podman would start for a reference. With a digest, the name and one of the image's digests must
 * match; a tag beside a digest is ignored (github.com/containers/image, docker/reference).
 */
export function findImage({ images }: ImageIndex, reference: string): StoredImage | undefined {
  const { repository, tag, digest } = splitReference(reference);
  return images.find(({ names, digests }) =>
    names.some((name) => {
      const one = splitReference(name);
      if (!isSameRepository(one.repository, repository)) return false;
      return digest === undefined
        ? one.tag === tag && one.digest === undefined
        : digests.has(digest);
    }),
  );
}

/** Splits a reference; without tag and digest the tag is `latest`. */
export function splitReference(reference: string): {
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: string;
} {
  const [name = '', digest] = reference.split('@');
  const [, repository = name, tag] = /^(.*?)(?::([^:/]+))?$/.exec(name) ?? [];
  if (digest !== undefined) return { repository, digest, tag };
  return { repository, tag: tag ?? 'latest' };
}

/** A tag for an image that is named by its digest: podman finds it by any name of its repository. */
export function digestTag({
  repository,
  digest = '',
}: Pick<ReturnType<typeof splitReference>, 'repository' | 'digest'>): string {
  return `${repository}:${digest.replace(':', '-')}`;
}

/** A short name (`debian`, `site/base`) matches any registry: registries.conf chose one at the pull. */
function isSameRepository(stored: string, wanted: string): boolean {
  if (stored === wanted) return true;
  const [first = ''] = wanted.split('/');
  const hasRegistry = wanted.includes('/') && /[.:]|^localhost$/.test(first);
  if (hasRegistry)
    return stored === wanted.replace(/^docker\.io\/(?=[^/]+$)/, 'docker.io/library/');
  const [, afterRegistry = ''] = /^[^/]+\/(.*)$/.exec(stored) ?? [];
  return afterRegistry === wanted || afterRegistry === `library/${wanted}`;
}

function imageOf(record: Readonly<Record<string, unknown>>): StoredImage {
  const { id, names, digest, layer } = record;
  const data = record['big-data-digests'];
  const digests = typeof data === 'object' && data !== null ? Object.entries(data) : [];
  return {
    id: String(id),
    names: Array.isArray(names) ? names.map(String) : [],
    digests: new Set([
      ...(typeof digest === 'string' ? [digest] : []),
      ...digests.flatMap(([name, value]) => (name.startsWith('manifest') ? [String(value)] : [])),
    ]),
    ...(typeof layer === 'string' && layer !== '' && { layer }),
  };
}

function layerOf({
  id,
  parent,
  'diff-size': size,
}: Readonly<Record<string, unknown>>): StoredLayer {
  const below = typeof parent === 'string' && parent !== '' ? { parent } : {};
  return { id: String(id), ...below, sizeBytes: typeof size === 'number' ? size : 0 };
}

function records(
  text: string,
  file: string,
  directory: string,
): readonly Readonly<Record<string, unknown>>[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw brokenStore(`${directory}/${file} is not JSON`, directory);
  }
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [undefined];
  return list.map((one) => {
    const record = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof record.id === 'string' && idPattern.test(record.id)) return record;
    throw brokenStore(`${directory}/${file} was not written by podman`, directory);
  });
}

/** @returns `image-store-broken` */
export function brokenStore(message: string, directory: string): BerthError {
  return new BerthError('image-store-broken', message, {
    hint: `When nobody is logged in, move ${directory} away and run \`berth images pull\`.`,
    fields: { file: directory },
  });
}
