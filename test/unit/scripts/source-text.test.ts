import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { singleFile } from '../../../scripts/single-file.ts';
import { helperProgram } from '../../../src/ssh/pod/forwarding/helper-program.ts';

/** What the checker prints: nothing for a file without syntax errors. */
function complaints(file: string, args: readonly string[], input = ''): string {
  const env = { PATH: process.env.PATH, PYTHONPYCACHEPREFIX: tmpdir() };
  const { stderr, error } = spawnSync(file, args, { input, env, encoding: 'utf8' });
  return error?.message ?? stderr;
}

const hasPython = spawnSync('python3', ['--version']).status === 0;

describe('source files in other languages', () => {
  it.each(globSync('src/**/*.sh'))('sh parses %s', (file) => {
    expect(complaints('sh', ['-n', file])).toBe('');
  });

  it.skipIf(!hasPython).each(globSync('src/**/*.py'))('Python compiles %s', (file) => {
    expect(complaints('python3', ['-m', 'py_compile', file])).toBe('');
  });

  it.skipIf(!hasPython)('Python compiles the parts of the helper joined together', () => {
    const program = 'import sys; compile(sys.stdin.read(), "helper", "exec")';
    expect(complaints('python3', ['-c', program], helperProgram)).toBe('');
  });

  it('an output contains their text and reads no file', async () => {
    const entry = 'src/ssh/pod/forwarding/helper-program.ts';
    const { text } = await singleFile(entry, { banner: '', define: {} });
    expect(text).toContain('def by_netlink(family):');
    expect(text).toContain('platform-python');
    expect(text).not.toContain('readFileSync');
  });
});
