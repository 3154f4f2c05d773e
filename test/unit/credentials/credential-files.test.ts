import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { credentialFiles, siblings } from '../../../src/credentials/refresh-token-lineage.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-siblings-'));
});
afterEach(() => rm(folder, { recursive: true }));

const fill = async (count: number, name: (number: number) => string): Promise<void> => {
  for (let number = 0; number < count; number += 1)
    await writeFile(join(folder, name(number)), '{}');
};

it('the credentials for other clusters are the files beside this one', async () => {
  await fill(3, (number) => `cluster${number}.json`);
  await fill(2, (number) => `cluster${number}.json.lock`);
  const found = await siblings(join(folder, 'cluster0.json'));
  expect(found.sort()).toEqual([1, 2].map((number) => join(folder, `cluster${number}.json`)));
});

it('there are none if the directory is missing or not a directory', async () => {
  expect(await siblings(join(folder, 'none', 'a.json'))).toEqual([]);
  await writeFile(join(folder, 'file'), '');
  expect(await siblings(join(folder, 'file', 'a.json'))).toEqual([]);
  await symlink('loop', join(folder, 'loop'));
  expect(await siblings(join(folder, 'loop', 'a.json'))).toEqual([]);
});

it('at most 64 are read', async () => {
  await fill(300, (number) => `cluster${number}.json`);
  expect(await credentialFiles(folder)).toHaveLength(64);
});

it('only the first 1,024 entries of the directory are searched', async () => {
  await fill(1_000, (number) => `junk${number}`);
  await fill(1, (number) => `cluster${number}.json`);
  expect(await credentialFiles(folder)).toHaveLength(1);
  // In whatever order the file system lists them, most of them are not among the first 1,024.
  await fill(63, (number) => `cluster${number + 1}.json`);
  await fill(3_000, (number) => `more${number}`);
  expect((await credentialFiles(folder)).length).toBeLessThan(64);
});
