import { chmod, chown, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeDirectory } from '../../../../src/cli/render/write-directory.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-rendered-'));
  await writeDirectory(directory, [index, part]);
});
afterEach(() => rm(directory, { recursive: true }));

const index = { path: 'index.html', text: 'index\n' };
const part = { path: 'parts/one.html', text: 'one\n' };

const textOf = (path: string): Promise<string> => readFile(join(directory, path), 'utf8');

it('changes nothing the second time', async () => {
  expect(await writeDirectory(directory, [index, part])).toEqual([
    { path: 'index.html', change: 'unchanged' },
    { path: 'parts/one.html', change: 'unchanged' },
  ]);
});

it('brings its own files up to date, and removes what is no longer wanted', async () => {
  const newer = { path: 'index.html', text: 'newer\n' };

  expect(await writeDirectory(directory, [newer])).toEqual([
    { path: 'index.html', change: 'changed' },
    { path: 'parts/one.html', change: 'removed' },
  ]);
  expect(await textOf('index.html')).toBe('newer\n');
  await expect(textOf('parts/one.html')).rejects.toThrow('ENOENT');
});

it('removes nothing because of a record that is of somebody else, or that others can write', async () => {
  const record = join(directory, '.berth-site.json');
  await chmod(record, 0o666);
  await expect(
    writeDirectory(directory, [{ path: 'index.html', text: 'newer\n' }]),
  ).rejects.toMatchObject({
    code: 'site-file-edited',
  });
  await chmod(record, 0o644);
  await chown(record, 54321, 54321);
  expect(await writeDirectory(directory, [index])).toEqual([
    { path: 'index.html', change: 'unchanged' },
  ]);
  expect(await textOf('parts/one.html')).toBe('one\n');
});

it.each([
  ['overwrite', [index, { path: 'parts/one.html', text: 'newer\n' }, { path: 'new', text: '' }]],
  ['remove', [index, { path: 'new', text: '' }]],
])('refuses to %s what somebody edited, and then writes nothing', async (_what, files) => {
  await writeFile(join(directory, 'parts/one.html'), 'one\nours\n');

  await expect(writeDirectory(directory, files)).rejects.toMatchObject({
    code: 'site-file-edited',
    message: `parts/one.html in ${directory} is not as Berth wrote it; nothing was changed`,
  });
  expect(await textOf('parts/one.html')).toBe('one\nours\n');
  expect(await readdir(directory)).not.toContain('new');
});
