import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

describe('what the documentation says of the sources', () => {
  const named = globSync(['*.md', 'docs/*.md']).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/`((?:src|hooks|shell|test|scripts)\/[\w./-]+)`/g)].map(
      ([, path = '']) => ({ file, path }),
    ),
  );

  it('names files and directories that are there', () => {
    expect(named.length).toBeGreaterThan(40);
    // `hooks/pam-session` is also what is installed of it.
    const isThere = (path: string): boolean => existsSync(path) || existsSync(`${path}.ts`);
    expect(named.filter(({ path }) => !isThere(path))).toEqual([]);
  });
});
