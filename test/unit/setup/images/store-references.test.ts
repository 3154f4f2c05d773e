import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { userReferences } from '../../../../src/setup/images/collect-garbage.ts';

const uid = process.getuid?.() ?? 0;
const id = 'ab'.repeat(32);
let storage: string;
beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), 'berth-references-'));
  const list = join(storage, 'users', String(uid), 'storage/overlay-containers');
  await mkdir(list, { recursive: true });
  await writeFile(join(list, 'containers.json'), JSON.stringify([{ image: id }]));
});
afterAll(() => rm(storage, { recursive: true }));

/** Another user's store, in place of which there is a link. */
async function withLink(to: string): Promise<ReturnType<typeof userReferences>> {
  const directory = join(storage, 'users/4242');
  await mkdir(directory, { recursive: true });
  await symlink(to, join(directory, 'storage'));
  try {
    return userReferences(storage);
  } finally {
    await rm(directory, { recursive: true });
  }
}

describe('what users can put in the place of their stores', () => {
  it.each([
    ['a name that is too long', 'n'.repeat(300)],
    ['a loop of links', 'storage'],
    ['a file', '/etc/hostname'],
    ['nothing', '/nonexistent'],
    ['a way into a namespace of the user', '/proc/self/root'],
  ])('%s costs that user alone', async (_what, to) => {
    const { ids, unknown, broken } = await withLink(to);
    expect([...ids]).toEqual([id]);
    expect(unknown).toEqual([]);
    expect(broken.every((path) => path.includes('/4242/'))).toBe(true);
  });
});

it('a store that is a link is not followed, wherever it leads', async () => {
  const own = join(storage, 'users', String(uid), 'storage');
  const elsewhere = join(storage, 'elsewhere');
  await rename(own, elsewhere);
  await symlink(elsewhere, own);
  try {
    const { ids, unknown, broken } = userReferences(storage);
    expect([[...ids], unknown]).toEqual([[], []]);
    expect(broken).toHaveLength(4);
  } finally {
    await rm(own);
    await rename(elsewhere, own);
  }
});

it('nothing is known where the directory of all users cannot be listed', async () => {
  const file = join(storage, 'no-folder');
  await mkdir(file);
  await writeFile(join(file, 'users'), '');
  expect(userReferences(file).unknown).toEqual([join(file, 'users')]);
});
