import { execFile, spawn } from 'node:child_process';
import {
  lutimes,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { takeLock } from '../../../src/system/file-lock.ts';
import { repetitions } from '../../rig/soak.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-lock-'));
  path = join(directory, 'x.lock');
});
afterEach(() => rm(directory, { recursive: true }));

const options = { timeoutMs: 200, foreignStaleMs: 60_000 };
const module = new URL('../../../src/system/file-lock.ts', import.meta.url).pathname;

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
  it('is held by one process at a time, and free for the next', async () => {
    const first = await takeLock(path, options);
    await expect(takeLock(path, options)).rejects.toMatchObject({ code: 'lock-timeout' });
    await first?.release();
    const second = await takeLock(path, options);
    await second?.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('is not waited for if the work is already done', async () => {
    await takeLock(path, options);
    expect(await takeLock(path, { ...options, stopWaitingIf: () => true })).toBeUndefined();
  });

  it('is released if its last holder has just done the work', async () => {
    const answers = [false, true];
    expect(await takeLock(path, { ...options, stopWaitingIf: () => answers.shift() ?? true })).toBe(
      undefined,
    );
    expect(answers).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
  });

  it('of a killed process is taken over at once', async () => {
    await killedOwner();
    expect(await readdir(directory)).toEqual(['x.lock']);
    const lock = await takeLock(path, options);
    await lock?.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('of a killed process whose PID another process has now is taken over at once', async () => {
    await killedOwner();
    const holder = await readlink(path);
    await rm(path);
    // Both start times are of the same boot, so the later process is told apart.
    await symlink(holder.replace(/-\d+:(?=\d)/, `-${process.pid}:`), path);
    await (await takeLock(path, options))?.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('of a living process is held however old it is', async () => {
    const lock = await takeLock(path, options);
    const old = new Date(Date.now() - 61_000);
    await lutimes(path, old, old);
    await expect(takeLock(path, options)).rejects.toMatchObject({
      code: 'lock-timeout',
      message: expect.stringContaining(`process ${process.pid} on ${hostname()}`) as string,
    });
    await lock?.release();
  });

  it('of a living process in a home is held until it is older than any holder may be', async () => {
    const held = await takeLock(path, options);
    const inHome = { ...options, timeoutMs: 0, staleMs: 30_000 };
    await expect(takeLock(path, inHome)).rejects.toMatchObject({ code: 'lock-timeout' });
    await lutimes(path, 0, 0);
    const next = await takeLock(path, inHome);
    await held?.release();
    await expect(takeLock(path, { ...inHome, staleMs: 60_000 })).rejects.toThrow();
    await next?.release();
  });

  it('of another host is held until it is older than any holder may be', async () => {
    await symlink(`berth:00000000-1-1:1:0123456789ab:not-${hostname()}`, path);
    await expect(takeLock(path, options)).rejects.toMatchObject({ code: 'lock-timeout' });
    const old = new Date(Date.now() - 61_000);
    await lutimes(path, old, old);
    await (await takeLock(path, options))?.release();
  });

  it('in a directory that does not exist creates it, closed to other users', async () => {
    const lock = await takeLock(join(directory, 'new/x.lock'), options);
    expect((await stat(join(directory, 'new'))).mode & 0o777).toBe(0o700);
    await lock?.release();
  });

  it('that another program has created is held until it is that old', async () => {
    await writeFile(path, 'garbage');
    await expect(takeLock(path, options)).rejects.toMatchObject({ code: 'lock-timeout' });
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    await (await takeLock(path, options))?.release();
  });

  it('is never held by two, even if many find it with a dead holder at once', async () => {
    const counter = join(directory, 'counter');
    for (let round = 0; round < repetitions(1, 10); round += 1) {
      await killedOwner();
      await writeFile(counter, '0');
      // Not atomic on purpose: two at once would lose a count.
      const body = `
        import { readFileSync, writeFileSync } from 'node:fs';
        import { setTimeout as sleep } from 'node:timers/promises';
        for (let i = 0; i < 4; i++) {
          const lock = await takeLock(${JSON.stringify(path)}, { timeoutMs: 20000, foreignStaleMs: 60000 });
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
