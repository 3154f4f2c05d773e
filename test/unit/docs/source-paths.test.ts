import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

describe('the paths in the documentation', () => {
  const named = globSync(['*.md', 'docs/*.md']).flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(
        /`((?:src|hooks|shell|test|scripts|etc|docs)\/[^`*\s]+)`/g,
      ),
    ].map(([, path = '']) => ({ file, path })),
  );

  it('are of files and directories that exist', () => {
    expect(named.length).toBeGreaterThan(40);
    expect(named.some(({ file }) => file === 'docs/security.md')).toBe(true);
    // `hooks/pam-session` is also the name of the installed program.
    const exists = (path: string): boolean =>
      existsSync(path) || (/^(?:hooks|shell)\//.test(path) && existsSync(`${path}.ts`));
    expect(named.filter(({ path }) => !exists(path))).toEqual([]);
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
