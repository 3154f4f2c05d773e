import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { contextNames } from '../../../../src/setup/init/cluster-setup.ts';

it('a cluster whose name begins another is not taken for it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-context-'));
  const file = join(directory, 'config');
  writeFileSync(file, 'contexts: [{name: berth-hook@k8s2, context: {}}]\n');
  const found = ['k8s2', 'k8s'].map((cluster) => contextNames(file).has(`berth-hook@${cluster}`));
  rmSync(directory, { recursive: true });
  expect(found).toEqual([true, false]);
  expect(contextNames(file).has('berth-hook@k8s2')).toBe(false);
});

it('of several documents the first one counts, as for kubectl', () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-context-'));
  const file = join(directory, 'config');
  writeFileSync(file, 'contexts: [{name: berth-hook@k8s}]\n---\ncontexts: []\n');
  const found = contextNames(file).has('berth-hook@k8s');
  rmSync(directory, { recursive: true });
  expect(found).toBe(true);
});
