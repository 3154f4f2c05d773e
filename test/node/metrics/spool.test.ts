import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { foldSpool } from '../../../src/diagnose/metrics/fold-spool.ts';
import { EventSpool, mostOfSpool } from '../../../src/system/event-spool.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { seededRandom } from '../../rig/seeded-random.ts';
import { repetitions } from '../../rig/soak.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(publicDirectory, 'spool-'));
});
afterEach(() => rm(directory, { recursive: true }));

const opened = (now = Date.now()): number => {
  const { totals } = foldSpool(directory, now);
  return totals.counters.berth_ssh_connections_opened_total?.[''] ?? 0;
};
const note = (times = 1): void => {
  for (let time = 0; time < times; time += 1) {
    const spool = new EventSpool('pam-session', directory);
    spool.add('session opened');
    spool.write();
  }
};

/** A process of TypeScript, in the test's own Node. */
function start(script: string): ChildProcess {
  const source = (path: string): string =>
    new URL(`../../../src/${path}`, import.meta.url).pathname;
  const imports = `import { foldSpool } from '${source('diagnose/metrics/fold-spool.ts')}';
import { EventSpool } from '${source('system/event-spool.ts')}';
const directory = '${directory}';\n`;
  const node = [process.execPath, '--import', 'tsx', '--input-type=module-typescript', '-e'];
  return spawn(node[0] ?? '', [...node.slice(1), imports + script], { stdio: 'inherit' });
}

it('counts each event once, whatever is killed meanwhile', async () => {
  expect(opened()).toBe(0);
  const writers = Array.from({ length: 4 }, () =>
    start(`for (let at = 0; at < 500; at += 1) {
      const spool = new EventSpool('pam-session', directory);
      spool.add('session opened', { profile: 'x'.repeat(200) });
      spool.write();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }`),
  );
  const ended = Promise.all(writers.map((writer) => once(writer, 'exit')));
  const random = seededRandom(26);
  let killed = 0;
  for (let at = 0; at < repetitions(8, 60); at += 1) {
    // Each counts again and again, with a clock that goes fast, so that it also begins new files.
    const folder = start(`let now = Date.now() + ${at} * 3e9;
      for (;;) foldSpool(directory, (now += 6e5));`);
    const exited = once(folder, 'exit');
    await new Promise((resolve) => setTimeout(resolve, 400 + random() * 600));
    if (folder.exitCode === null) killed += 1;
    folder.kill('SIGKILL');
    await exited;
  }
  await ended;
  expect(killed).toBeGreaterThan(0);
  expect(opened()).toBe(2_000);
}, 120_000);

it('goes on in a new file, also for a program that has opened the old one', () => {
  const now = Date.now();
  opened(now);
  const early = new EventSpool('pam-session', directory);
  early.add('session opened');
  early.write();
  note(6_000);
  expect(opened(now + 1)).toBe(6_001);
  // The file is large, so this run begins a new one.
  opened(now + 700_000);
  early.add('session opened');
  early.write();
  note();
  expect(opened(now + 700_001)).toBe(6_003);
  // The next file replaces that of the early program, when that has had its time.
  note(6_000);
  expect(opened(now + 1_400_000)).toBe(12_003);
  expect(opened(now + 1_400_001)).toBe(12_003);
});

it('keeps nothing before the first run, and nothing beyond its bound, and says so', async () => {
  note();
  expect(opened()).toBe(0);
  note();
  await truncate(join(directory, 'events'), mostOfSpool);
  note(3);
  expect((await stat(join(directory, 'events'))).size).toBe(mostOfSpool);
  expect(foldSpool(directory, Date.now())).toMatchObject({ isFull: true });
  note();
  expect(foldSpool(directory, Date.now())).toMatchObject({ isFull: false });
  expect(opened()).toBe(2);
});

it('counts what follows a line that a full disk has cut, and follows no link', async () => {
  opened();
  const events = join(directory, 'events');
  await writeFile(events, '{"program":"pam-session","eve', { flag: 'a' });
  note();
  expect(opened()).toBe(1);
  await rm(events);
  await writeFile(join(directory, 'other'), 'kept');
  await symlink(join(directory, 'other'), events);
  note();
  expect(await readFile(join(directory, 'other'), 'utf8')).toBe('kept');
});

it('keeps no name of a user', async () => {
  opened();
  const spool = new EventSpool('pam-session', directory);
  spool.add('session closed', { user: 'alice', rhost: '192.0.2.1', session: '1.2@h', seconds: 3 });
  spool.write();
  const text = await readFile(join(directory, 'events'), 'utf8');
  expect(text).toContain('"seconds":3');
  expect(text).not.toMatch(/alice|192\.0\.2\.1|1\.2@h/);
});

it('stays small with 20 logins a second on ten clusters, and loses none', async () => {
  let now = Date.now();
  foldSpool(directory, now);
  let largest = 0;
  const minutes = repetitions(12, 60);
  for (let minute = 0; minute < minutes; minute += 1) {
    const spool = new EventSpool('pre-pun', directory);
    for (let login = 0; login < 1_200; login += 1) {
      spool.add('portal login begun');
      spool.write();
      for (let cluster = 0; cluster < 10; cluster += 1)
        spool.add('namespace kept', { cluster: `cluster-${cluster}`, took_ms: 62 });
      const phases = { configuration_ms: 3, credentials_ms: 61, clusters_ms: 9 };
      spool.add('portal login', { exit: 0, took_ms: 104, ...phases });
      spool.write();
    }
    const sizes = ['events', 'events.former'].map(
      async (name) => (await stat(join(directory, name)).catch(() => ({ size: 0 }))).size,
    );
    largest = Math.max(
      largest,
      (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0),
    );
    now += 60_000;
    const { totals, isFull } = foldSpool(directory, now);
    expect(isFull).toBe(false);
    expect(totals.counters.berth_portal_logins_total?.['result="success"']).toBe(
      1_200 * (minute + 1),
    );
  }
  expect(largest).toBeLessThan(mostOfSpool * 1.5);
}, 300_000);
