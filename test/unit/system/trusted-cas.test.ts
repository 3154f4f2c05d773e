import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostCas, trustedCas } from '../../../src/system/trusted-cas.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-roots-'));
});
afterAll(() => rm(directory, { recursive: true }));

describe('the certificate authorities that count', () => {
  it('are only the configured ones', () => {
    expect(trustedCas('PEM')).toBe('PEM');
  });

  it('are in the first file of the host that contains certificates', async () => {
    const [pem = ''] = rootCertificates;
    const [absent, empty, store] = ['absent', 'empty', 'store'].map((name) =>
      join(directory, name),
    );
    await writeFile(empty ?? '', '');
    await writeFile(store ?? '', pem);
    expect(hostCas([absent, empty, store].map(String))).toBe(pem);
    expect(hostCas([absent, empty].map(String))).toBeUndefined();
  });
});
