import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  readProgramHead,
  readConfigText,
} from '../../../../src/setup/sshd-lint/read-config-text.ts';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'linted-text-'));
  file = join(directory, 'sshd_config');
});
afterEach(() => rm(directory, { recursive: true }));

const unreadable = { code: 'config-unreadable' };

it('reads a file, and the head of one', async () => {
  await writeFile(file, `#!/bin/sh\n${'#'.repeat(1000)}`);
  expect(await readConfigText(file, '')).toHaveLength(1010);
  expect(await readProgramHead(file)).toHaveLength(256);
});

it('does not wait for a FIFO, and reads no device and no directory', async () => {
  execFileSync('mkfifo', [file]);
  for (const one of [file, '/dev/zero', directory]) {
    await expect(readConfigText(one, '')).rejects.toMatchObject(unreadable);
    await expect(readProgramHead(one)).rejects.toMatchObject(unreadable);
  }
});

it('reads none that is longer than a megabyte', async () => {
  await writeFile(file, '');
  await truncate(file, 1024 * 1024 + 1);
  await expect(readConfigText(file, '')).rejects.toMatchObject(unreadable);
});

it('says what to do where there is none', async () => {
  await expect(readConfigText(file, 'Name it.')).rejects.toMatchObject({
    code: 'config-missing',
    hint: 'Name it.',
  });
});
