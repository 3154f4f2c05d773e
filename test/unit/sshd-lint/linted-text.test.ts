import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lintedHead, lintedText } from '../../../src/sshd-lint/linted-text.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'linted-text-'));
  file = join(folder, 'sshd_config');
});
afterEach(() => rm(folder, { recursive: true }));

const unreadable = { code: 'config-unreadable' };

it('reads a file, and the head of one', async () => {
  await writeFile(file, `#!/bin/sh\n${'#'.repeat(1000)}`);
  expect(await lintedText(file, '')).toHaveLength(1010);
  expect(await lintedHead(file)).toHaveLength(256);
});

it('does not wait for a FIFO, and reads no device and no directory', async () => {
  execFileSync('mkfifo', [file]);
  for (const one of [file, '/dev/zero', folder]) {
    await expect(lintedText(one, '')).rejects.toMatchObject(unreadable);
    await expect(lintedHead(one)).rejects.toMatchObject(unreadable);
  }
});

it('reads none that is longer than a megabyte', async () => {
  await writeFile(file, '');
  await truncate(file, 1024 * 1024 + 1);
  await expect(lintedText(file, '')).rejects.toMatchObject(unreadable);
});

it('says what to do where there is none', async () => {
  await expect(lintedText(file, 'Name it.')).rejects.toMatchObject({
    code: 'config-missing',
    hint: 'Name it.',
  });
});
