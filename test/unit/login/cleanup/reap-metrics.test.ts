import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import { writeReapMetrics } from '../../../../src/login/cleanup/reap-metrics.ts';
import type { ReapReport } from '../../../../src/login/cleanup/reap-sessions.ts';

const report: ReapReport = {
  ...{
    busy: false,
    unreached: 5,
    processes: 3,
    sessionsOpen: 7,
    containersLeft: 4,
    services: [{ uid: 1001, unit: 'a.service', processes: 2 }],
    ownerless: [4711],
  },
  connections: [{ user: 'ada', id: '12.3456' }],
  containers: [
    { user: 'ada', name: 'berth-own-12.3456' },
    { user: 'bob', name: 'berth-shared' },
  ],
  failed: [new BerthError('podman-failed', 'no', { exit: 'temporary', hint: '' })],
};

describe.runIf(process.getuid?.() === 0)('metrics of the reaper', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-metrics-'));
    await mkdir(join(directory, 'out'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const values = async (): Promise<Record<string, string>> => {
    const text = await readFile(join(directory, 'out/berth.prom'), 'utf8');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return Object.fromEntries(
      lines.map((line) => line.replace('berth_ssh_', '').split(' ') as [string, string]),
    );
  };

  it('say what is open now, and count what was ended since boot', async () => {
    const file = join(directory, 'out/berth.prom');
    for (const seconds of [1000, 1060.5])
      await writeReapMetrics(file, report, { run: directory, seconds });
    expect(await values()).toEqual({
      ...{ sessions_open: '7', containers: '4', storage_without_account: '1' },
      ...{ reap_users_not_reached: '5', user_services: '1' },
      ...{ reaped_connections_total: '2', reaped_containers_total: '4' },
      ...{ reaped_processes_total: '6', reap_failures_total: '2' },
      reap_last_run_timestamp_seconds: '1060',
    });
    expect(await readdir(join(directory, 'out'))).toEqual(['berth.prom']);
  });

  it('have a type and a help for each, as the textfile collector wants', async () => {
    const file = join(directory, 'out/berth.prom');
    await writeReapMetrics(file, report, { run: directory, seconds: 1 });
    const text = await readFile(file, 'utf8');
    for (const name of Object.keys(await values()))
      expect(text).toMatch(
        new RegExp(`# HELP berth_ssh_${name} .+\\n# TYPE berth_ssh_${name} (?:counter|gauge)\\n`),
      );
  });
});
