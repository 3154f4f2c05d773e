import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { installCopy } from '../../../scripts/outputs.ts';
import { processMark } from '../../../src/system/temporary-name.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-outputs-'));
});
afterEach(() => rm(directory, { recursive: true }));

it('two installations into one prefix at the same moment both succeed', async () => {
  const from = join(directory, 'from');
  await writeFile(from, Buffer.alloc(16 * 1024 * 1024, 'berth'));
  const path = join(directory, 'prefix/node');
  await Promise.all(Array.from({ length: 8 }, () => installCopy(path, from)));
  expect(await readdir(join(directory, 'prefix'))).toEqual(['node']);
  expect((await readFile(path)).equals(await readFile(from))).toBe(true);
  expect((await stat(path)).mode & 0o777).toBe(0o755);
});

it('what a killed installation left is removed by the next, and not what another writes now', async () => {
  const { pid } = spawnSync('true');
  const [dead, alive] = [processMark().replace(/\d+$/, String(pid)), processMark()];
  await writeFile(join(directory, `.node.berth-${dead}-0123456789abcdef`), '');
  await writeFile(join(directory, `.node.berth-${alive}-0123456789abcdef`), '');
  await installCopy(join(directory, 'node'), '/etc/hostname');
  expect((await readdir(directory)).sort()).toEqual([
    `.node.berth-${alive}-0123456789abcdef`,
    'node',
  ]);
});
