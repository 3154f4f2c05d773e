import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manPages } from '../../../scripts/man-pages.ts';
import { root } from '../../../scripts/all-commands.ts';
import { type CommandNode, shownOptions } from '../../../src/cli/kit/command.ts';
import { loginOptions } from '../../../src/sessions/request/session-request.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const pages = manPages({ version: '0.1.0', date: '2026-11-24' });
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

const optionsOf = (node: CommandNode): readonly string[] => [
  ...shownOptions(node).flatMap(({ names }) => names),
  ...node.commands.flatMap(optionsOf),
];

/** Whether `--no` is there, and not only as a part of `--no-headers`. */
const hasWord = (text: string, option: string): boolean =>
  new RegExp(`(?<![\\w-])${option}(?![\\w-])`).test(text);

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
      expect(optionsOf(command).filter((option) => !hasWord(text, option))).toEqual([]);
    },
  );

  it('berth(8) has the options of every command, berth-login(8) those of the login program', async () => {
    const [berth, login] = [await rendered('berth.8'), await rendered('berth-login.8')];
    const global = root.options.flatMap(({ names }) => names);
    expect(global).toContain('--debug');
    expect(global.filter((option) => !hasWord(berth, option))).toEqual([]);
    expect(Object.keys(loginOptions).filter((option) => !hasWord(login, option))).toEqual([]);
  });

  it('are there for each file that has a schema', () => {
    const described = readdirSync(new URL('../../../etc/schema', import.meta.url))
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.replace('.json', ''));
    const names: Readonly<Record<string, string>> = {
      'profile.yml': 'berth-profile',
      'clusters.d.yml': 'berth-clusters.d',
      'berth.yml': 'berth.yml',
    };
    const missing = described.filter(
      (name) => !pages.some(({ file }) => file === `${names[name] ?? `berth-${name}`}.5`),
    );
    expect(missing).toEqual([]);
  });

  it('are all found by `man -k berth`, each with what it is about', async () => {
    const tree = join(directory, 'tree');
    for (const { file, roff } of pages) {
      const section = join(tree, `man${file.slice(-1)}`);
      await mkdir(section, { recursive: true });
      await writeFile(join(section, file), roff);
    }
    const env = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: '/nonexistent' };
    await run('mandb', ['--quiet', '--user-db', '--create', tree], { env });
    const { stdout, stderr } = await run('man', ['-M', tree, '-k', 'berth'], { env });
    const found = stdout.toString().trimEnd().split('\n');
    expect(found.map((line) => line.replace(/ \((\d)\) .*/, '.$1')).sort(), stderr).toEqual(
      pages.map(({ file }) => file).sort(),
    );
    expect(found.filter((line) => !/ - \S.*\S/.test(line))).toEqual([]);
  });

  // The set-up of this project runs it.
  it('are installed by install:site', () => {
    const missing = pages
      .map(({ file }) => join(installDirectory, `man/man${file.slice(-1)}/${file}.gz`))
      .filter((path) => !existsSync(path));
    expect(missing).toEqual([]);
  });

  it('have examples, and what each command is for', () => {
    const without = pages.filter(
      ({ file, roff }) =>
        !roff.includes('.SH DESCRIPTION') ||
        (!roff.includes('.SH EXAMPLES') && !['berth-clusters.d.5', 'berth-login.8'].includes(file)),
    );
    expect(without.map(({ file }) => file)).toEqual([]);
  });

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
