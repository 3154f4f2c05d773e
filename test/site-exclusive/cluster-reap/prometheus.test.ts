import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { namespacesWithPods } from '../../../src/clusters/reap/prometheus-query.ts';
import { Prometheus } from '../../rig/monitoring/prometheus.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';

let directory: string;
let prometheus: Prometheus;

const hour = 3600;

/** A real Prometheus with a past: what kube-state-metrics would have told it of two clusters. */
beforeAll(async () => {
  await ensurePackages(['prometheus']);
  directory = await mkdtemp(join(tmpdir(), 'prometheus-'));
  const now = Math.floor(Date.now() / 1000);
  const seen = (namespace: string, cluster: string, from: number, to: number): string[] =>
    Array.from(
      { length: Math.floor((from - to) / 300) },
      (_, step) =>
        `kube_pod_container_info{namespace="${namespace}",cluster="${cluster}",pod="p"} 1 ${now - from + step * 300}`,
    );
  const lines = [
    '# TYPE kube_pod_container_info gauge',
    ...seen('u-lately', 'prod', 3 * hour, 2 * hour),
    ...seen('u-long-ago', 'prod', 40 * hour, 39 * hour),
    ...seen('u-elsewhere', 'test', 3 * hour, 2 * hour),
    '# EOF',
    '',
  ];
  await writeFile(join(directory, 'past.txt'), lines.join('\n'));
  await promisify(execFile)('promtool', [
    ...[
      'tsdb',
      'create-blocks-from',
      'openmetrics',
      join(directory, 'past.txt'),
      join(directory, 'data'),
    ],
  ]);
  prometheus = await Prometheus.start(directory);
});
afterAll(async () => {
  await prometheus.stop();
  await rm(directory, { recursive: true });
});

describe('the answer of Prometheus', () => {
  const ask = (seconds: number, matchers = ''): Promise<ReadonlySet<string>> =>
    namespacesWithPods({ url: prometheus.url, matchers, timeoutMs: 10_000 }, seconds);

  it('has the namespaces with a pod within the time', async () => {
    expect([...(await ask(24 * hour))].sort()).toEqual(['u-elsewhere', 'u-lately']);
    expect([...(await ask(48 * hour, 'cluster="prod"'))].sort()).toEqual([
      'u-lately',
      'u-long-ago',
    ]);
  });

  it('is an error if it has no pods, rejects the query, or is unreachable', async () => {
    await expect(ask(24 * hour, 'cluster="none"')).rejects.toMatchObject({
      code: 'prometheus-incomplete',
    });
    await expect(ask(24 * hour, 'cluster=')).rejects.toMatchObject({ code: 'prometheus-refused' });
    const nowhere = { url: 'http://127.0.0.1:1', matchers: '', timeoutMs: 1000 };
    await expect(namespacesWithPods(nowhere, hour)).rejects.toMatchObject({
      code: 'prometheus-unreachable',
    });
  });
});
