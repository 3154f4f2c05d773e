import { execFileSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, open, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  readAtMost,
  readUserFile,
  readUserFileSync,
  firstDirectoryNames,
} from '../../../src/system/user-file.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-user-file-'));
  path = join(directory, 'note');
});
afterEach(() => rm(directory, { recursive: true }));

const uid = process.getuid?.() ?? 0;
const demands = { uid, maximumBytes: 100 };

/** Both readers, as one that answers or throws. */
const readers: Readonly<Record<string, (at: string) => Promise<string | undefined>>> = {
  readUserFile: async (at) => (await readUserFile(at, demands))?.toString(),
  readUserFileSync: (at) =>
    new Promise((resolve) => resolve(readUserFileSync(at, demands)?.toString())),
};

describe.each(Object.entries(readers))('a file below a user’s directory, by %s', (_name, read) => {
  it('is read up to its limit, and is undefined if it does not exist', async () => {
    await writeFile(path, 'a'.repeat(100));
    expect(await read(path)).toBe('a'.repeat(100));
    await writeFile(path, '');
    expect(await read(path)).toBe('');
    expect(await read(join(directory, 'missing'))).toBeUndefined();
  });

  it.each([
    ['a FIFO', () => execFileSync('mkfifo', [path]), 'user-file-unsafe'],
    ['a directory', () => mkdir(path), 'user-file-unsafe'],
    ['a link to an endless device', () => symlink('/dev/zero', path), 'user-file-unreadable'],
    ['a link to itself', () => symlink(path, path), 'user-file-unreadable'],
    ['a socket', () => listening(path), 'user-file-unreadable'],
    ['a file of 100 GB', () => sparse(path), 'user-file-too-large'],
    ['in a directory that is none', async () => writeFile(path, ''), 'user-file-unreadable'],
  ])('is refused at once if it is %s', async (what, make, code) => {
    await make();
    const at = what === 'in a directory that is none' ? join(path, 'note') : path;
    await expect(read(at)).rejects.toMatchObject({ code, fields: { file: at } });
  });

  it.runIf(uid === 0)('is refused if another user owns it, also through symlinks', async () => {
    await mkdir(join(directory, 'theirs'));
    await writeFile(join(directory, 'theirs/note'), 'secret');
    await chown(join(directory, 'theirs/note'), 64_401, 64_401);
    await symlink(join(directory, 'theirs'), join(directory, 'link'));
    await expect(read(join(directory, 'link/note'))).rejects.toMatchObject({
      code: 'user-file-unsafe',
    });
  });
});

it('of a file that grows, no more is read than was there', async () => {
  await writeFile(path, 'abc');
  const file = await open(path);
  const { size } = await file.stat();
  await truncate(path, 1_000_000);
  expect((await readAtMost(file, size)).toString()).toBe('abc');
  await truncate(path, 1);
  expect((await readAtMost(file, size)).length).toBe(0);
  await file.close();
});

it('of a directory, no more names are taken than asked for', async () => {
  for (const name of ['a', 'b', 'c']) await writeFile(join(directory, name), '');
  expect([...(await firstDirectoryNames(directory, 10))].sort()).toEqual(['a', 'b', 'c']);
  expect(await firstDirectoryNames(directory, 2)).toHaveLength(2);
  expect(await firstDirectoryNames(join(directory, 'a'), 2)).toEqual([]);
  expect(await firstDirectoryNames(join(directory, 'missing'), 2)).toEqual([]);
  execFileSync('mkfifo', [path]);
  expect(await firstDirectoryNames(path, 2)).toEqual([]);
});

async function sparse(at: string): Promise<void> {
  await writeFile(at, '');
  await truncate(at, 100_000_000_000);
}

/** The socket's name stays when its server has ended. */
async function listening(at: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(at, resolve));
  execFileSync('mv', [at, `${at}.kept`]);
  await new Promise((resolve) => server.close(resolve));
  execFileSync('mv', [`${at}.kept`, at]);
}
