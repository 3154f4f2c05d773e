/** `npm run docs`: writes the generated pages of docs/. test/unit/docs/generated-pages.test.ts compares them. */
import './check-node.ts';
import { writeFile } from 'node:fs/promises';
import { formattedPage, generatedPages } from './docs/pages.ts';

for (const page of generatedPages) {
  await writeFile(new URL(`../${page.path}`, import.meta.url), await formattedPage(page));
  process.stderr.write(`wrote ${page.path}\n`);
}
