import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { inDirectory } from '../../../src/system/directory-tree.ts';

const directory = mkdtempSync(join(tmpdir(), 'directory-tree-'));

afterEach(() => rmSync(directory, { recursive: true }));

it('reads no file that is larger than all that Berth writes', async () => {
  writeFileSync(join(directory, 'small'), 'text');
  writeFileSync(join(directory, 'large'), '');
  truncateSync(join(directory, 'large'), 1024 ** 3);

  const read = (name: string): Promise<string | undefined> =>
    inDirectory(directory, (tree) => Promise.resolve(tree.read(name)));

  expect(await read('small')).toBe('text');
  await expect(read('large')).rejects.toMatchObject({ code: 'site-directory-unsafe' });
});
