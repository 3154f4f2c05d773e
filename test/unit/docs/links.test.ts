import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages, pageText } from '../../rig/markdown-pages.ts';

const root = new URL('../../../', import.meta.url).pathname;
const links = pages.flatMap((page) =>
  [...pageText(page).matchAll(/\]\((?!https:)([^)#]*)(?:#([^)]+))?\)/g)].map(
    ([, path = '', heading]) => ({
      page,
      target: path === '' ? page : join(dirname(page), path),
      heading,
    }),
  ),
);

describe('the links of the documentation', () => {
  it.each(links)('$page leads to $target $heading', ({ target, heading }) => {
    expect(existsSync(join(root, target))).toBe(true);
    if (heading !== undefined) expect(headingsOf(target)).toContain(heading);
  });
});

/** The anchors that GitHub makes of headings. */
function headingsOf(page: string): string[] {
  return [...pageText(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
