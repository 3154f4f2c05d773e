import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { heldPodAccesses, readPodAccess } from '../../../src/flows/pod-access.ts';

const access = {
  ...{ cluster: 'prod', namespace: 'u-ada', expiry: 1 },
  server: { url: 'https://api.example.org', token: 't' },
};

describe('the way to the pods, in a file that is the user’s', () => {
  let run: string;
  let file: string;
  beforeEach(async () => {
    run = await mkdtemp(join(tmpdir(), 'berth-access-'));
    file = join(run, 'pods/1000/prod.json');
    await mkdir(join(run, 'pods/1000'), { recursive: true });
  });
  afterEach(() => rm(run, { recursive: true }));

  it('is read as it was written', async () => {
    await writeFile(file, JSON.stringify(access));
    expect(readPodAccess({ run }, 1000, 'prod')).toEqual(access);
    expect(heldPodAccesses({ run }, 1000)).toEqual([access]);
  });

  it.each([
    '',
    'null',
    '[]',
    '{"server":1}',
    JSON.stringify({ ...access, server: { url: access.server.url } }),
    JSON.stringify({ ...access, namespace: ['u-ada'] }),
    JSON.stringify({ ...access, expiry: 'never' }),
  ])('is none where the user made %j of it', async (text) => {
    await writeFile(file, text);
    expect(readPodAccess({ run }, 1000, 'prod')).toBeUndefined();
    expect(heldPodAccesses({ run }, 1000)).toEqual([]);
  });

  it('is not read where the user made it larger than root’s memory', async () => {
    await writeFile(file, '');
    await truncate(file, 1_900_000_000);
    expect(readPodAccess({ run }, 1000, 'prod')).toBeUndefined();
  });
});
