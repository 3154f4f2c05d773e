import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manPages } from '../../../scripts/man-pages.ts';

const root = new URL('../../..', import.meta.url).pathname;

/** What a host gets: the files of etc, the scripts of the packages, and the manual pages. A link in a README is relative. */
const texts = [
  ...globSync(['etc/**/*', 'packaging/scripts/*', 'packaging/{installed,still-used}'], {
    cwd: root,
  })
    .filter((file) => statSync(join(root, file)).isFile() && !file.endsWith('README.md'))
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') })),
  ...manPages({ version: '1', date: '2026-01-01' }).map(({ file, roff }) => ({ file, text: roff })),
];

describe('the documentation that installed files name', () => {
  it('is where it is installed, not where it is in the repository', () => {
    const relative = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/(?<![\w/.])docs\/[\w-]+\.md/g)].map(([path]) => `${file}: ${path}`),
    );
    expect(relative).toEqual([]);
  });

  it('exists', () => {
    const named = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/\/usr\/lib\/berth\/share\/(docs\/[\w-]+\.md)/g)].map(([, path = '']) => ({
        file,
        path,
      })),
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
  });
});
