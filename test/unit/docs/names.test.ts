import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pages, pageText } from '../../rig/markdown.ts';

const root = new URL('../../../', import.meta.url).pathname;

/** Programs of others that the pages name. */
const others = ['ssh-agent'];

/** All words of the sources, and the names of the files. */
function knownWords(): Set<string> {
  const files = globSync('{src,hooks,shell,etc,scripts,test}/**/*', {
    cwd: root,
    withFileTypes: true,
  }).filter((entry) => entry.isFile() && !/fixtures|\.(?:png|gz)$/.test(entry.name));
  const words = new Set(others);
  for (const { name, parentPath } of files) {
    const path = `${parentPath}/${name}`;
    for (const [word] of `${path} ${readFileSync(path, 'utf8')}`.matchAll(/[a-z]+(?:-[a-z0-9]+)+/g))
      words.add(word);
  }
  return words;
}

describe('the names in the documentation', () => {
  it('are names of the sources: error codes, checks, objects, programs, files', () => {
    const words = knownWords();
    const unknown = pages.flatMap((page) =>
      [...pageText(page).matchAll(/`([a-z]+(?:-[a-z0-9]+)+)`/g)]
        .map(([, word = '']) => word)
        .filter((word) => !words.has(word))
        .map((word) => `${page}: ${word}`),
    );
    expect(unknown).toEqual([]);
  });
});
