import { chown, mkdir, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  storedPodGrants,
  readPodGrant,
  writePodGrant,
} from '../../../../../src/sessions/backends/pod/pod-grant-file.ts';

const access = {
  ...{ cluster: 'prod', namespace: 'u-ada', expiry: 1 },
  server: { url: 'https://api.example.org', token: 't' },
};

describe.runIf(process.getuid?.() === 0)('the way to the pods, as root keeps it', () => {
  let run: string;
  let file: string;
  beforeEach(async () => {
    run = await mkdtemp(join(tmpdir(), 'berth-access-'));
    file = join(run, 'pods/1000/prod.json');
    await mkdir(join(run, 'pods/1000'), { recursive: true });
  });
  afterEach(() => rm(run, { recursive: true }));

  it('is read as it was written, and root alone can', async () => {
    writePodGrant({ run }, 1000, access);
    expect(readPodGrant({ run }, 1000, 'prod')).toEqual(access);
    expect(storedPodGrants({ run }, 1000)).toEqual([access]);
    const { uid, mode } = await stat(file);
    expect([uid, mode & 0o7777]).toEqual([0, 0o600]);
  });

  it.each([
    '',
    'null',
    '[]',
    '{"server":1}',
    JSON.stringify({ ...access, server: { url: access.server.url } }),
    JSON.stringify({ ...access, namespace: ['u-ada'] }),
    JSON.stringify({ ...access, expiry: 'never' }),
  ])('is ignored if it is incomplete: %j', async (text) => {
    await writeFile(file, text, { mode: 0o600 });
    expect(readPodGrant({ run }, 1000, 'prod')).toBeUndefined();
    expect(storedPodGrants({ run }, 1000)).toEqual([]);
  });

  it('is ignored in a file of the user, as former versions wrote it, even if it is larger than root’s memory', async () => {
    await writeFile(file, JSON.stringify(access), { mode: 0o600 });
    await chown(file, 1000, 1000);
    expect(readPodGrant({ run }, 1000, 'prod')).toBeUndefined();
    await chown(file, 0, 0);
    await truncate(file, 1_900_000_000);
    expect(readPodGrant({ run }, 1000, 'prod')).toBeUndefined();
  });
});
