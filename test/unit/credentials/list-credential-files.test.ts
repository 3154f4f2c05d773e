import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  listCredentialFiles,
  otherCredentialFiles,
} from '../../../src/credentials/refresh-token-lineage.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-siblings-'));
});
afterEach(() => rm(directory, { recursive: true }));

const fill = async (count: number, name: (number: number) => string): Promise<void> => {
  for (let number = 0; number < count; number += 1)
    await writeFile(join(directory, name(number)), '{}');
};

it('the credentials for other clusters are the files beside this one', async () => {
  await fill(3, (number) => `cluster${number}.json`);
  await fill(2, (number) => `cluster${number}.json.lock`);
  const found = await otherCredentialFiles(join(directory, 'cluster0.json'));
  expect(found.sort()).toEqual([1, 2].map((number) => join(directory, `cluster${number}.json`)));
});

it('there are none if the directory is missing or not a directory', async () => {
  expect(await otherCredentialFiles(join(directory, 'none', 'a.json'))).toEqual([]);
  await writeFile(join(directory, 'file'), '');
  expect(await otherCredentialFiles(join(directory, 'file', 'a.json'))).toEqual([]);
  await symlink('loop', join(directory, 'loop'));
  expect(await otherCredentialFiles(join(directory, 'loop', 'a.json'))).toEqual([]);
});

it('at most 64 are read', async () => {
  await fill(300, (number) => `cluster${number}.json`);
  expect(await listCredentialFiles(directory)).toHaveLength(64);
});

it('only the first 1,024 entries of the directory are searched', async () => {
  await fill(1_000, (number) => `junk${number}`);
  await fill(1, (number) => `cluster${number}.json`);
  expect(await listCredentialFiles(directory)).toHaveLength(1);
  // In whatever order the file system lists them, most of them are not among the first 1,024.
  await fill(63, (number) => `cluster${number + 1}.json`);
  await fill(3_000, (number) => `more${number}`);
  expect((await listCredentialFiles(directory)).length).toBeLessThan(64);
});
