import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { takeLock } from '../../../src/system/owner-lock.ts';
import { times } from '../../rig/soak.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-lock-'));
  path = join(folder, 'x.lock');
});
afterEach(() => rm(folder, { recursive: true }));

const options = { waitMs: 200, foreignStaleMs: 60_000 };
const module = new URL('../../../src/system/owner-lock.ts', import.meta.url).pathname;

/** A process of its own; Node runs TypeScript as it stands. */
const script = (body: string): string[] => [
  ...['--experimental-strip-types', '--disable-warning=ExperimentalWarning'],
  ...['--input-type=module', '-e', `import { takeLock } from ${JSON.stringify(module)}; ${body}`],
];

/** One that dies with the lock in its hands. */
function killedOwner(): Promise<void> {
  const body = `await takeLock(${JSON.stringify(path)}, ${JSON.stringify(options)}); process.kill(process.pid, 'SIGKILL');`;
  return new Promise((resolve) => {
    spawn(process.execPath, script(body), { stdio: 'ignore' }).on('exit', () => resolve());
  });
}

describe('a lock', () => {
  it('is for one at a time, and free for the next', async () => {
    const first = await takeLock(path, options);
    await expect(takeLock(path, options)).rejects.toMatchObject({ code: 'lock-timeout' });
    await first?.release();
    const second = await takeLock(path, options);
    await second?.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not waited for when there is enough already', async () => {
    await takeLock(path, options);
    expect(await takeLock(path, { ...options, enough: () => true })).toBeUndefined();
  });

  it('is given back where its last owner made enough of it just before it was free', async () => {
    const answers = [false, true];
    expect(await takeLock(path, { ...options, enough: () => answers.shift() ?? true })).toBe(
      undefined,
    );
    expect(answers).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('of a killed process is taken over at once', async () => {
    await killedOwner();
    expect(await readdir(folder)).toEqual(['x.lock']);
    const lock = await takeLock(path, options);
    await lock?.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('of a killed process whose number another one has now, too', async () => {
    await killedOwner();
    const owner = JSON.parse(await readFile(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...owner, pid: process.pid }));
    await (await takeLock(path, options))?.release();
  });

  it('of another machine stands until it is older than any owner may be', async () => {
    const owner = {
      host: `not-${hostname()}`,
      world: '',
      pid: 1,
      start: '1',
      nonce: 'b'.repeat(18),
    };
    await writeFile(path, JSON.stringify(owner));
    await expect(takeLock(path, options)).rejects.toMatchObject({ code: 'lock-timeout' });
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    await (await takeLock(path, options))?.release();
  });

  it('that is no lock of ours only ages', async () => {
    await writeFile(path, 'garbage');
    await expect(takeLock(path, options)).rejects.toMatchObject({ code: 'lock-timeout' });
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    await (await takeLock(path, options))?.release();
  });

  it('is never held by two, however many find it with a dead owner at once', async () => {
    const counter = join(folder, 'counter');
    for (let round = 0; round < times(1, 10); round += 1) {
      await killedOwner();
      await writeFile(counter, '0');
      // Not atomic on purpose: two at once would lose a count.
      const body = `
        import { readFileSync, writeFileSync } from 'node:fs';
        import { setTimeout as sleep } from 'node:timers/promises';
        for (let i = 0; i < 4; i++) {
          const lock = await takeLock(${JSON.stringify(path)}, { waitMs: 20000, foreignStaleMs: 60000 });
          const n = Number(readFileSync(${JSON.stringify(counter)}, 'utf8'));
          await sleep(2);
          writeFileSync(${JSON.stringify(counter)}, String(n + 1));
          await lock.release();
        }`;
      const runs = Array.from(
        { length: 6 },
        () =>
          new Promise<string>((resolve) => {
            execFile(process.execPath, script(body), (_, __, stderr) => resolve(stderr));
          }),
      );
      expect(await Promise.all(runs)).toEqual(Array.from({ length: 6 }, () => ''));
      expect(await readFile(counter, 'utf8')).toBe('24');
    }
  }, 60_000);
});
