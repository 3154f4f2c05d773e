import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

describe('paths of the sources in the documentation', () => {
  const named = globSync(['*.md', 'docs/*.md']).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/`((?:src|hooks|shell|test|scripts)\/[\w./-]+)`/g)].map(
      ([, path = '']) => ({ file, path }),
    ),
  );

  it('exist', () => {
    expect(named.length).toBeGreaterThan(40);
    // `hooks/pam-session` is also the installed program.
    const isThere = (path: string): boolean => existsSync(path) || existsSync(`${path}.ts`);
    expect(named.filter(({ path }) => !isThere(path))).toEqual([]);
  });

  it('are programs in the pictures', () => {
    const programs = globSync('docs/images/*.svg').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/>((?:hooks|shell)\/[\w-]+)</g)].map(
        ([, path = '']) => path,
      ),
    );
    expect(programs.length).toBeGreaterThan(2);
    expect(programs.filter((path) => !existsSync(`${path}.ts`))).toEqual([]);
  });
});
