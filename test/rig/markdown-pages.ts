import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url).pathname;

/** README.md, SECURITY.md and all pages of docs/, as paths relative to the repository. */
export const pages: readonly string[] = [
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...readdirSync(`${root}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export function pageText(page: string): string {
  return readFileSync(root + page, 'utf8');
}

/** A fenced code block of a page. */
export interface CodeBlock {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

export function codeBlocks(page: string): CodeBlock[] {
  return [...pageText(page).matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', text = '']) => ({
      page,
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}

/** The rows of all tables of a page whose first header cell is `firstHeader`; backticks are removed. */
export function tableRows(page: string, firstHeader: string): string[][] {
  const rows: string[][] = [];
  let within = false;
  for (const line of pageText(page).split('\n')) {
    const cells = line.startsWith('|') ? line.slice(1, -1).split(/(?<!\\)\|/) : undefined;
    if (cells === undefined) within = false;
    else if (within && !/^[\s|:-]+$/.test(line)) rows.push(cells.map((cell) => plain(cell)));
    else if (plain(cells[0] ?? '') === firstHeader) within = true;
  }
  return rows;
}

function plain(cell: string): string {
  return cell.trim().replaceAll('`', '').replaceAll('\\|', '|');
}
