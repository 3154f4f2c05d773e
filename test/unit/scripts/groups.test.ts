import { globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { expect, it } from 'vitest';
import { filesOf, groupOf, groups, keyOf } from '../../groups.ts';

it.each(Object.entries(groups))('%s has tests', (name, group) => {
  const files = filesOf(group);

  expect(files.length).toBeGreaterThan(0);
  expect(new Set(files.map(groupOf))).toEqual(new Set([name]));
});

it('a key follows what the tests of its group import, and nothing else', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-groups-'));
  try {
    const [test, imported, other] = ['one.test.ts', 'two.ts', 'three.ts'];
    await cp('src/source-text.ts', join(directory, other));
    await writeFile(join(directory, test), "import { two } from './two.ts';\ntwo();\n");
    await writeFile(join(directory, imported), 'export const two = () => 2;\n');
    const key = () => keyOf({ tests: [test], programs: [] }, directory);
    const before = await key();
    await writeFile(join(directory, other), '');
    expect(await key()).toBe(before);
    await writeFile(join(directory, imported), 'export const two = () => 3;\n');
    expect(await key()).not.toBe(before);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it('a key follows the texts that programs contain', async () => {
  const kinds = new Set(globSync('src/**/*.*').map((file) => extname(file)));
  const texts = [...kinds].filter((kind) => !['.ts', '.md'].includes(kind));
  expect(texts).toContain('.erb');
  const directory = await mkdtemp(join(tmpdir(), 'berth-groups-'));
  try {
    await mkdir(join(directory, 'src'));
    await writeFile(join(directory, 'one.test.ts'), '');
    const key = () => keyOf({ tests: ['one.test.ts'], programs: [] }, directory);
    for (const kind of texts) {
      const before = await key();
      await writeFile(join(directory, 'src', `text${kind}`), '');
      expect(await key(), kind).not.toBe(before);
    }
  } finally {
    await rm(directory, { recursive: true });
  }
});
