import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pages, pageText } from '../../rig/markdown-pages.ts';

const root = new URL('../../../', import.meta.url).pathname;

/** Names in other software that the pages mention. */
const others = [
  'ssh-agent',
  'password-auth',
  'ondemand-selinux',
  'proxy-headers',
  'unqualified-search-registries',
  'jupyterhub-singleuser',
];

/** All words of the sources, and the names of the files. */
function knownWords(): Set<string> {
  const files = globSync('{src,hooks,shell,etc,packaging,scripts,test}/**/*', {
    cwd: root,
    withFileTypes: true,
  }).filter((entry) => entry.isFile() && !/fixtures|\.(?:png|gz)$/.test(entry.name));
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(`${root}package.json`, 'utf8'),
  ) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
  const words = new Set([...others, ...Object.keys({ ...dependencies, ...devDependencies })]);
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
