import { existsSync, globSync, readFileSync } from 'node:fs';
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

/** “SECTION” in the page docs/NAME.md of an installation, as messages of Berth name it. */
const named = globSync(['src/**/*.ts', 'docs/{errors,checks}.md'], { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/"([A-Z][\w ,]+ Keycloak)"/g)].map(
    ([, section = '']) => ({ file, section }),
  ),
);

describe('the sections that messages name', () => {
  it.each(named)('$file: “$section” is on the page', ({ section }) => {
    expect(pageText('docs/configuration.md')).toContain(`\n### ${section}\n`);
  });

  it('are those of an audience mapper, of the exchange, and of rotation', () => {
    expect(new Set(named.map(({ section }) => section)).size).toBe(3);
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
