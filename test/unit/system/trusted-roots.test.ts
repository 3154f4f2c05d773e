import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostRoots, trustedRoots } from '../../../src/system/trusted-roots.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-roots-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('the certificate authorities that count', () => {
  it('are only the configured ones', () => {
    expect(trustedRoots('PEM')).toBe('PEM');
  });

  it('are in the first file of the host that contains certificates', async () => {
    const [pem = ''] = rootCertificates;
    const [absent, empty, store] = ['absent', 'empty', 'store'].map((name) => join(folder, name));
    await writeFile(empty ?? '', '');
    await writeFile(store ?? '', pem);
    expect(hostRoots([absent, empty, store].map(String))).toBe(pem);
    expect(hostRoots([absent, empty].map(String))).toBeUndefined();
  });
});
