import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { outputSchemaPages } from '../../../scripts/docs/output-schemas.ts';
import { formattedPage } from '../../../scripts/docs/pages.ts';

const root = new URL('../../../', import.meta.url).pathname;

// Not a unit test: the types of the whole program are read for it.
it.each(outputSchemaPages)('$path is what `npm run docs` writes', async (page) => {
  expect(readFileSync(root + page.path, 'utf8')).toBe(await formattedPage(page));
});
