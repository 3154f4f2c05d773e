import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SiteSettings } from '../../../../src/config/schema/settings.ts';
import { ok } from '../../../../src/system/errors/check-result.ts';
import { runCheck } from '../../../../src/system/run-check.ts';
import { checkHost, nodeFinding } from '../../../../src/diagnose/doctor/host-checks.ts';
import { certificateFinding, clockFinding } from '../../../../src/diagnose/doctor/issuer-checks.ts';
import { exampleCluster } from '../../example-cluster.ts';

describe('a check', () => {
  it('that hangs fails when its time is over, and says so', async () => {
    const result = await runCheck('config', () => new Promise(() => undefined), 100);
    expect(result).toMatchObject({
      id: 'config',
      status: 'failed',
      message: 'no answer within 0.1 s',
    });
  });

  it('that throws has failed with a next step', async () => {
    const boom = (): never => {
      throw new Error('boom');
    };
    const result = await runCheck('config', boom, 1000, 'prod');
    expect(result).toMatchObject({ id: 'config', cluster: 'prod', status: 'failed' });
    expect(result.message).toContain('boom');
    expect(result.next).not.toBe('');
  });

  it('that is well has its finding', async () => {
    expect(await runCheck('config', () => ok('fine'), 1000)).toEqual({
      id: 'config',
      status: 'ok',
      message: 'fine',
    });
  });
});

describe('what a server shows', () => {
  const ourDate = Date.UTC(2026, 10, 21, 12, 0, 0, 500);
  it.each([
    [0, 'ok'],
    [4, 'ok'],
    [-4, 'ok'],
    [20, 'warning'],
    [-20, 'warning'],
    [61, 'failed'],
    [-61, 'failed'],
  ])('a clock that is %i s behind ours: %s', (seconds, status) => {
    const date = Date.UTC(2026, 10, 21, 12, 0, 0) - seconds * 1000;
    expect(clockFinding({ ourDate, date }, 60).status).toBe(status);
  });

  it.each([
    [30, 'ok'],
    [13, 'warning'],
    [-1, 'failed'],
  ])('a certificate good for %i days: %s', (days, status) => {
    const facts = { ourDate, certificateEnds: ourDate + days * 86_400_000 };
    expect(certificateFinding(facts).status).toBe(status);
  });

  it.each([
    ['22.19.0', 'ok'],
    ['24.0.1', 'ok'],
    ['22.18.9', 'failed'],
    ['20.19.2', 'failed'],
  ])('Node %s: %s', (version, status) => {
    expect(nodeFinding(version).status).toBe(status);
  });
});

describe.runIf(process.getuid?.() === 0)('files of root', () => {
  let directory: string;
  let settings: SiteSettings;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'doctor-'));
    await mkdir(join(directory, 'state'), { mode: 0o700 });
    for (const name of ['kubeconfig', 'docker.json'])
      await writeFile(join(directory, name), 'x', { mode: 0o600 });
    await writeFile(join(directory, 'kube-credential'), 'x', { mode: 0o755 });
    settings = {
      minimumUid: 1000,
      deadlineMs: 10_000,
      stateDir: join(directory, 'state'),
      clustersDir: join(directory, 'clusters.d'),
      kubeCredentialCommand: join(directory, 'kube-credential'),
      warnings: [],
      clusters: [
        {
          ...exampleCluster,
          server: { endpoint: 'https://127.0.0.1:1' },
          namespacePrefix: '',
          admin: { kind: 'kubeconfig', file: join(directory, 'kubeconfig') },
          pullSecret: { name: 'p', dockerConfigFile: join(directory, 'docker.json') },
          jobPodReaper: false,
        },
      ],
    };
  });
  afterAll(() => rm(directory, { recursive: true }));

  const statuses = async (): Promise<Record<string, string>> => {
    const results = await checkHost(settings, 2000);
    for (const { status, next } of results)
      expect(next !== undefined).toBe(status === 'failed' || status === 'warning');
    return Object.fromEntries(results.map(({ id, status }) => [id, status]));
  };
  const well = {
    'state-dir': 'ok',
    'kube-credential': 'ok',
    'admin-kubeconfig-mode': 'ok',
    'docker-config-mode': 'ok',
  };

  it('are well when closed', async () => {
    expect(await statuses()).toEqual(well);
  });

  it.each([
    ['kubeconfig', 0o644, 0o600, 'admin-kubeconfig-mode', 'failed'],
    ['kubeconfig', 0o640, 0o600, 'admin-kubeconfig-mode', 'warning'],
    ['docker.json', 0o660, 0o600, 'docker-config-mode', 'failed'],
    ['kube-credential', 0o700, 0o755, 'kube-credential', 'failed'],
    ['kube-credential', 0o775, 0o755, 'kube-credential', 'failed'],
    ['state', 0o755, 0o700, 'state-dir', 'warning'],
    ['.', 0o777, 0o700, 'kube-credential', 'failed'],
  ])('%s with mode %o: exactly its check says so', async (name, bad, good, id, status) => {
    await chmod(join(directory, name), bad);
    try {
      expect(await statuses()).toEqual({ ...well, [id]: status });
    } finally {
      await chmod(join(directory, name), good);
    }
  });
});
