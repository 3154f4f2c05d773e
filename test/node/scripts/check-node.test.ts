import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, describe, expect, it } from 'vitest';
import { nodeVersionProblem } from '../../../scripts/check-node.ts';

const root = new URL('../../..', import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), 'berth-check-node-'));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

describe('the Node that Berth needs', () => {
  it.each(['v22.19.0', 'v22.20.1', 'v24.0.0'])('accepts %s', (version) => {
    expect(nodeVersionProblem(version, '/usr/bin/node')).toBeUndefined();
  });

  it.each(['v22.18.9', 'v20.20.2', 'v9.99.0'])(
    'refuses %s, and names the one it needs',
    (version) => {
      expect(nodeVersionProblem(version, '/usr/bin/node')).toMatch(
        /^\/usr\/bin\/node is Node .* needs Node 22\.19 or later\n/,
      );
    },
  );

  it('is the same in package.json, the README and the page for developers', () => {
    const read = (file: string): string => readFileSync(join(root, file), 'utf8');
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    for (const page of ['README.md', 'docs/development.md']) {
      const named = [...read(page).matchAll(/Node (\d[\d.]*)/g)].map(
        ([, version]) => `>=${version ?? ''}`,
      );
      expect(named, page).not.toEqual([]);
      expect(new Set(named), page).toEqual(new Set([engines.node]));
    }
  });

  it.each(['scripts/install.ts', 'scripts/build.ts', 'test/rig/site/up.ts', 'test/demo/demo.ts'])(
    'an older one runs nothing of %s',
    async (script) => {
      const older = 'Object.defineProperty(process, "version", { value: "v20.20.2" })';
      const target = script === 'scripts/install.ts' ? ['--prefix', join(directory, 'berth')] : [];
      const { exitCode, stdout, stderr } = await execa(
        process.execPath,
        [...['--import', `data:text/javascript,${older}`, '--import', 'tsx'], script, ...target],
        { cwd: root, reject: false },
      );
      expect({ exitCode, stdout }).toEqual({ exitCode: 78, stdout: '' });
      expect(stderr).toContain('is Node 20.20.2; Berth needs Node 22.19 or later\nnext: ');
      expect(readdirSync(directory)).toEqual([]);
    },
  );
});
