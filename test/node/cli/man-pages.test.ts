import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manPages } from '../../../scripts/man-pages.ts';
import { commandModules } from '../../../src/cli/command-line.ts';
import { commandTree, type CommandNode } from '../../../src/cli/command-tree.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { run } from '../../rig/login-node/run-program.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';

const pages = manPages({ version: '0.1.0', date: '2026-11-24' });
const root = commandTree(commandModules({} as Terminal));
let directory: string;

beforeAll(async () => {
  await ensurePackages(['man-db', 'groff-base']);
  directory = await mkdtemp('/tmp/berth-man-');
  for (const { file, roff } of pages) await writeFile(join(directory, file), roff);
});
afterAll(() => rm(directory, { recursive: true }));

/** As a reader sees it, 100 columns wide. */
async function rendered(file: string): Promise<string> {
  const { stdout, stderr } = await run(
    'man',
    ['--warnings', '--local-file', join(directory, file)],
    {
      env: {
        PATH: '/usr/bin:/bin',
        LANG: 'C.UTF-8',
        MANWIDTH: '100',
        MANROFFOPT: '-c',
        TERM: 'dumb',
      },
    },
  );
  expect(stderr).toBe('');
  // Bold and underlined by overstriking.
  return stdout.toString().replaceAll(/.\u0008/g, '');
}

const optionsOf = ({ options, commands }: CommandNode): readonly string[] => [
  ...options.flatMap(({ names }) => names),
  ...commands.flatMap(optionsOf),
];

describe('the manual pages', () => {
  it.each(pages.map(({ file }) => file))('%s is rendered without a warning', async (file) => {
    const text = await rendered(file);
    expect(text).toContain('NAME');
    expect(text).not.toMatch(/\\f|undefined|\]\(/);
  });

  it.each(root.commands.map((command) => [command.name, command] as const))(
    'berth-%s(8) has every option of the program',
    async (name, command) => {
      const text = await rendered(`berth-${name}.8`);
      for (const option of optionsOf(command)) expect(text).toContain(option);
    },
  );

  it('refer to pages that exist', () => {
    const names = new Set(pages.map(({ file }) => file.replace(/\.(\d)$/, '($1)')));
    const elsewhere =
      'capabilities(7) diff(1) id(1) passwd(5) ssh(1) sshd_config(5) sysexits(3)'.split(' ');
    const references = pages.flatMap(({ roff }) =>
      [...roff.replaceAll(/\\f[BRI]|\\(?=-)/g, '').matchAll(/\b([a-z][a-z._-]+)\s?\((\d)\)/g)].map(
        ([, name = '', section = '']) => `${name}(${section})`,
      ),
    );
    expect(references.filter((one) => !names.has(one) && !elsewhere.includes(one))).toEqual([]);
  });
});
