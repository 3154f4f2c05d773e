import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';

describe('the paths in the documentation', () => {
  const named = globSync(['*.md', 'docs/*.md', 'docs/decisions/*.md']).flatMap((file) =>
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

  it('are of source files that exist, also where only the name is given', () => {
    const files = new Set(
      globSync(['*.ts', '{src,test,hooks,shell,scripts}/**/*.ts']).map((path) => basename(path)),
    );
    const names = globSync(['*.md', 'docs/*.md', 'docs/decisions/*.md']).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/`([\w.-]+\.ts)`/g)].map(([, name = '']) => ({
        file,
        name,
      })),
    );
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter(({ name }) => !files.has(name))).toEqual([]);
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
