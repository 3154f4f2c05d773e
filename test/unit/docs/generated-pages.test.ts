import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { outputSchemaPages } from '../../../scripts/docs/output-schemas.ts';
import { formattedPage, generatedPages } from '../../../scripts/docs/pages.ts';

const root = new URL('../../../', import.meta.url).pathname;

describe('the generated pages', () => {
  it.each(generatedPages.filter((page) => !outputSchemaPages.includes(page)))(
    '$path is what `npm run docs` writes',
    { timeout: 120_000 },
    async (page) => {
      expect(readFileSync(root + page.path, 'utf8')).toBe(await formattedPage(page));
    },
  );
});
