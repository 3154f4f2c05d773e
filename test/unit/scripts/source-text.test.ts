import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { singleFile } from '../../../scripts/single-file.ts';

/** What the checker prints: nothing for a file without syntax errors. */
function complaints(file: string, args: readonly string[]): string {
  const { stderr, error } = spawnSync(file, args, { encoding: 'utf8' });
  return error?.message ?? stderr;
}

describe('source files in other languages', () => {
  it.each(globSync('src/**/*.sh'))('sh parses %s', (file) => {
    expect(complaints('sh', ['-n', file])).toBe('');
  });

  it('an output contains their text and reads no file', async () => {
    const { text } = await singleFile('src/sessions/backends/pod/objects/pod-scripts.ts', {
      banner: '',
      define: {},
    });
    expect(text).toContain('hold() { frozen=1; }');
    expect(text).not.toContain('readFileSync');
  });
});
