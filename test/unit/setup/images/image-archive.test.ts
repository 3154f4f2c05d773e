import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readImageArchive } from '../../../../src/setup/images/image-archive.ts';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'berth-archive-'))));
afterEach(() => rmSync(directory, { recursive: true }));

const id = 'a'.repeat(64);

/** A tar of these files. @param words of tar */
function archive(files: Readonly<Record<string, unknown>>, ...words: string[]): string {
  const content = join(directory, 'content');
  for (const [name, value] of Object.entries(files)) {
    mkdirSync(dirname(join(content, name)), { recursive: true });
    writeFileSync(join(content, name), JSON.stringify(value));
  }
  const file = join(directory, 'site:1.tar');
  const names = words.length > 0 ? words : Object.keys(files);
  execFileSync('tar', ['--create', '--force-local', '--file', file, '-C', content, ...names]);
  return file;
}

describe('the names and IDs of the images in an archive', () => {
  const manifest = [{ Config: `${id}.json`, RepoTags: ['registry.example/site:1'] }];

  it('are in the manifest of docker save and podman save', async () => {
    const file = archive({ 'layer.tar': 'x', 'manifest.json': manifest });
    const read = { file, names: ['registry.example/site:1'], ids: [id] };
    expect(await readImageArchive(file)).toEqual(read);
  });

  it('are found in a compressed archive, and in one with ./ before its names', async () => {
    const file = archive({ 'manifest.json': manifest }, '--gzip', '.');
    expect(await readImageArchive(file)).toMatchObject({ ids: [id] });
  });

  it('are in the index of an OCI layout', async () => {
    const digest = `sha256:${'b'.repeat(64)}`;
    const annotations = { 'org.opencontainers.image.ref.name': 'registry.example/site:2' };
    const file = archive({
      'index.json': { manifests: [{ digest, annotations }] },
      [`blobs/sha256/${'b'.repeat(64)}`]: { config: { digest: `sha256:${id}` } },
    });
    const read = { file, names: ['registry.example/site:2'], ids: [id] };
    expect(await readImageArchive(file)).toEqual(read);
  });

  it('are left out if they are no names of images', async () => {
    const names = ['localhost/site:1\nnetwork: host', '\u001b]0;x', 'localhost/site:1'];
    const file = archive({ 'manifest.json': [{ Config: `${id}.json`, RepoTags: names }] });
    expect((await readImageArchive(file)).names).toEqual(['localhost/site:1']);
  });

  it('may have no name', async () => {
    const file = archive({ 'manifest.json': [{ Config: `${id}.json`, RepoTags: null }] });
    expect(await readImageArchive(file)).toEqual({ file, names: [], ids: [id] });
  });

  it.each([
    ['a file system', { 'etc/hostname': 'x' }],
    ['another program', { 'index.json.bak': [] }],
  ])('are not in an archive of %s', async (_of, files) => {
    await expect(readImageArchive(archive(files))).rejects.toThrow(
      'it has neither manifest.json nor index.json, so it is not an image archive',
    );
  });

  it('can be made of an archive of a file system', async () => {
    const thrown = await readImageArchive(archive({ 'etc/hostname': 'x' })).catch(
      (error: unknown) => error,
    );
    expect(thrown).toMatchObject({
      hint: expect.stringContaining('first `podman import FILE localhost/NAME`') as unknown,
    });
  });

  it.each([
    ['does not exist', (file: string) => `${file}.gone`, 'it does not exist'],
    ['is a directory', () => directory, 'it is a directory'],
    ['is no archive', (file: string) => (truncateSync(file, 300), file), 'tar: '],
  ])('are not in a file that %s', async (_what, change, message) => {
    const file = change(archive({ 'manifest.json': manifest }));
    await expect(readImageArchive(file)).rejects.toThrow(`cannot be read: ${message}`);
  });
});
