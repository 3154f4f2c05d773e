import { statSync } from 'node:fs';
import { BerthError } from '../errors.ts';
import { mappingOrEmpty } from '../mapping.ts';
import { runProgram } from '../system/run-program.ts';

/** An archive of images, as `podman save`, `docker save` and `skopeo copy` write it. */
export interface ImageArchive {
  /** Absolute path. */
  readonly file: string;
  /** Names of its images with their tags; an image may have none. */
  readonly names: readonly string[];
  /** IDs of its images, 64 hexadecimal digits each. */
  readonly ids: readonly string[];
}

/**
 * Reads what is in an archive from its manifest, without unpacking it. It may be compressed.
 *
 * @param file absolute path
 * @throws {BerthError} `archive-unreadable`
 */
export async function readImageArchive(file: string): Promise<ImageArchive> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw unreadable(file, 'there is no such file');
  const docker = await member(file, 'manifest.json');
  if (docker !== undefined) return { file, ...fromDocker(docker) };
  const index = await member(file, 'index.json');
  if (index === undefined)
    throw unreadable(file, 'it has neither manifest.json nor index.json, so it is no image');
  return { file, ...(await fromOci(file, index)) };
}

/** `docker save`: https://github.com/moby/docker-image-spec, "manifest.json". */
function fromDocker(manifest: unknown): Omit<ImageArchive, 'file'> {
  const images = listOrEmpty(manifest).map(mappingOrEmpty);
  return {
    names: images.flatMap(({ RepoTags: tags }) => texts(listOrEmpty(tags))),
    ids: images.flatMap(({ Config: config }) => idIn(config)),
  };
}

/** OCI image layout. */
async function fromOci(file: string, index: unknown): Promise<Omit<ImageArchive, 'file'>> {
  const manifests = listOrEmpty(mappingOrEmpty(index).manifests).map(mappingOrEmpty);
  const names = manifests.flatMap(({ annotations }) => {
    const { 'io.containerd.image.name': full, 'org.opencontainers.image.ref.name': short } =
      mappingOrEmpty(annotations);
    return texts([full ?? short]).slice(0, 1);
  });
  const ids: string[] = [];
  for (const id of manifests.flatMap(({ digest }) => idIn(digest))) {
    const manifest = mappingOrEmpty(await member(file, `blobs/sha256/${id}`));
    ids.push(...idIn(mappingOrEmpty(manifest.config).digest));
  }
  return { names, ids };
}

/** @returns undefined if the archive has no such file, or if it is not JSON */
async function member(file: string, name: string): Promise<unknown> {
  // tar recognizes compressed archives. In some, names begin with ./
  const words = ['--extract', '--to-stdout', '--force-local', '--file', file, name, `./${name}`];
  const options = { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, maxBuffer: 2 ** 24 };
  const { stdout } = await runProgram('tar', words, options);
  try {
    return JSON.parse(stdout) as unknown;
  } catch {
    return undefined;
  }
}

function listOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function texts(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

/** `ID.json`, `blobs/sha256/ID`, `sha256:ID`. */
function idIn(text: unknown): string[] {
  const [id] = (typeof text === 'string' ? /[0-9a-f]{64}/.exec(text) : null) ?? [];
  return id === undefined ? [] : [id];
}

function unreadable(file: string, why: string): BerthError {
  return new BerthError(`archive ${file} cannot be read: ${why}`, {
    code: 'archive-unreadable',
    hint: 'Make it with `podman save -o FILE IMAGE` on a machine that has the image, and compare its size after the copy.',
    fields: { file },
  });
}
