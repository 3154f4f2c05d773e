import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

/** Packages that a file and what it imports statically need; what is imported with `import()` is loaded when it is needed. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const imports = /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)'/gm;
  const names = [...readFileSync(file, 'utf8').matchAll(imports)].map(([, name = '']) => name);
  for (const name of names.filter((one) => !one.startsWith('node:'))) {
    const path = name.startsWith('.') ? join(dirname(file), name) : name;
    if (seen.has(path)) continue;
    seen.add(path);
    if (path.endsWith('.ts')) packagesOf(path, seen);
  }
  return seen;
}

it('the start of `berth` loads no library but its parser', () => {
  const all = [...packagesOf('src/cli/berth.ts')];
  expect(all.length).toBeGreaterThan(40);
  expect(all.filter((name) => !/^src\/|\.json$/.test(name))).toEqual(['yargs']);
});
