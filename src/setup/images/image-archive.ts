import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { imageProblem } from '../../config/schema/profile/image-reference.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
import { runProgram } from '../../system/run-program.ts';

/** An archive of images, as `podman save`, `docker save` and `skopeo copy` write it. */
export interface ImageArchive {
  /** Absolute path. */
  readonly file: string;
  /** Valid names of its images, with their tags. An image may have none. */
  readonly names: readonly string[];
  /** IDs of its images, 64 hexadecimal digits each. */
  readonly ids: readonly string[];
}

/** Each costs one reading of the archive. */
const mostManifests = 16;

/** For one reading of an archive, which may be on a slow disk. Milliseconds. */
const tarMs = 300_000;

/**
 * Reads what is in an archive from its manifest, without unpacking it. It may be compressed.
 *
 * @param file absolute path
 * @throws {BerthError} `archive-unreadable`
 */
export async function readImageArchive(file: string): Promise<ImageArchive> {
  const status = existsSync(file) ? statSync(file) : undefined;
  if (status === undefined) throw unreadable(file, 'it does not exist', 'Correct the path.');
  if (status.isDirectory())
    throw unreadable(
      file,
      'it is a directory',
      existsSync(join(file, 'index.json'))
        ? `Pack the OCI layout: tar -C ${file} -cf FILE .`
        : 'Give the path of a file that `podman save` has written.',
    );
  if (!status.isFile()) throw unreadable(file, 'it is not a regular file', 'Correct the path.');
  const docker = await member(file, 'manifest.json');
  if (docker.json !== undefined) return { file, ...fromDocker(docker.json) };
  const index = await member(file, 'index.json');
  if (index.json !== undefined) return { file, ...(await fromOci(file, index.json)) };
  const why =
    index.error === ''
      ? 'it has neither manifest.json nor index.json, so it is not an image archive'
      : `tar: ${index.error}`;
  throw unreadable(
    file,
    why,
    'Make it with `podman save -o FILE IMAGE` on a machine that has the image, and compare its size after the copy. For a root file system as tar, first `podman import FILE localhost/NAME`.',
  );
}

/** `docker save`: https://github.com/moby/docker-image-spec, "manifest.json". */
function fromDocker(manifest: unknown): Omit<ImageArchive, 'file'> {
  const images = listOrEmpty(manifest).map(mappingOrEmpty);
  return {
    names: images.flatMap(({ RepoTags: tags }) => imageNames(listOrEmpty(tags))),
    ids: images.flatMap(({ Config: config }) => idIn(config)),
  };
}

/** OCI image layout. */
async function fromOci(file: string, index: unknown): Promise<Omit<ImageArchive, 'file'>> {
  const manifests = listOrEmpty(mappingOrEmpty(index).manifests)
    .slice(0, mostManifests)
    .map(mappingOrEmpty);
  const names = manifests.flatMap(({ annotations }) => {
    const { 'io.containerd.image.name': full, 'org.opencontainers.image.ref.name': short } =
      mappingOrEmpty(annotations);
    return imageNames([full ?? short]);
  });
  const ids: string[] = [];
  for (const id of manifests.flatMap(({ digest }) => idIn(digest))) {
    const { json } = await member(file, `blobs/sha256/${id}`);
    const manifest = mappingOrEmpty(json);
    ids.push(...idIn(mappingOrEmpty(manifest.config).digest));
  }
  return { names, ids };
}

/** @returns no `json` if the archive has no such file, or if that is not JSON; `error` if it cannot be read at all */
async function member(
  file: string,
  name: string,
): Promise<{ readonly json?: unknown; readonly error: string }> {
  // tar recognizes compressed archives. In some, names begin with ./
  const words = ['--extract', '--to-stdout', '--force-local', '--file', file, name, `./${name}`];
  const options = { cwd: '.', maxBuffer: 2 ** 24, timeoutMs: tarMs };
  const { stdout, stderr } = await runProgram('tar', words, options);
  try {
    return { json: JSON.parse(stdout) as unknown, error: '' };
  } catch {
    // One of the two names is always missing.
    const lines = stderr
      .split('\n')
      .filter((line) => !/Not found in archive|Exiting with failure|^$/.test(line));
    return { error: escapeControl(lines[0]?.replace(/^tar: /, '') ?? '') };
  }
}

function listOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Whoever made the archive can have written anything there. */
function imageNames(values: readonly unknown[]): string[] {
  return values
    .filter((value) => typeof value === 'string')
    .filter((name) => imageProblem(name) === undefined);
}

/** `ID.json`, `blobs/sha256/ID`, `sha256:ID`. */
function idIn(text: unknown): string[] {
  const [id] = (typeof text === 'string' ? /[0-9a-f]{64}/.exec(text) : null) ?? [];
  return id === undefined ? [] : [id];
}

function unreadable(file: string, why: string, hint: string): BerthError {
  return new BerthError('archive-unreadable', `archive ${file} cannot be read: ${why}`, {
    hint,
    fields: { file },
  });
}
