import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../..', import.meta.url);

describe('the threat model', () => {
  it('names a test for each boundary', () => {
    const text = readFileSync(new URL('docs/security.md', root), 'utf8');
    const [, table = ''] = text.split('The boundaries, from outside in:');
    const rows = (table.split('\n## ')[0] ?? '').split('\n').filter((line) => line.includes(' → '));

    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) expect(row.split('|').at(-2)).toMatch(/`test\//);
  });
});
