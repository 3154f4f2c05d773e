import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    await cp('src/system/program/source-text.ts', join(directory, other));
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

it.each([
  ['a text of a program', "sourceText('../two/text.erb', import.meta.url);", 'two/text.erb'],
  ['a page', "codeBlocks('docs/page.md');", 'docs/page.md'],
])('a key follows %s, and no other one', async (_, code, named) => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-groups-'));
  try {
    for (const name of ['one', 'two', 'docs']) await mkdir(join(directory, name));
    await writeFile(join(directory, 'one/one.test.ts'), code);
    const key = () => keyOf({ tests: ['one/one.test.ts'], programs: [] }, directory);
    await writeFile(join(directory, named), 'before');
    const before = await key();
    await writeFile(join(directory, 'docs/other.md'), '');
    expect(await key()).toBe(before);
    await writeFile(join(directory, named), 'after');
    expect(await key()).not.toBe(before);
  } finally {
    await rm(directory, { recursive: true });
  }
});
