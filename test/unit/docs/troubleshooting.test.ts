import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pageText } from '../../rig/markdown-pages.ts';

it('docs/troubleshooting.md names codes and checks that the sources have', () => {
  const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));
  const named = [...pageText('docs/troubleshooting.md').matchAll(/`([a-z]+(?:-[a-z]+)+)`/g)].map(
    ([, code = '']) => code,
  );
  expect(named.length).toBeGreaterThan(20);
  const isThere = (code: string): boolean => sources.some((text) => text.includes(`'${code}'`));
  expect(named.filter((code) => !isThere(code))).toEqual([]);
});
