import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterFile } from '../../../../src/config/load/config-overlay.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-clusters-'));
  for (const name of ['a.yml', 'b.yaml']) writeFileSync(join(directory, name), '');
});
afterAll(() => rmSync(directory, { recursive: true }));

it.each([
  ['a', 'a.yml'],
  ['b', 'b.yaml'],
  ['c', undefined],
])('the file of cluster %s is %s', (name, file) => {
  expect(clusterFile(directory, name)).toBe(file && join(directory, file));
});
