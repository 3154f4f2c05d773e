import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { chown, lstat, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { seededRandom } from '../../../rig/seeded-random.ts';
import { repetitions } from '../../../rig/soak.ts';
import { updateKubeconfig, options, testHome, wanted, type TestHome } from './kubeconfig-home.ts';

const writer = new URL('kubeconfig-writer.ts', import.meta.url);
const killedWriter = new URL('kubeconfig-killed-writer.ts', import.meta.url);
const mine = '# mine\nkind: Config\nusers:\n- name: bob\n  user: {token: x}\n';
const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);

describe.runIf(process.getuid?.() === 0)("kubectl's lock on a kubeconfig (as root)", () => {
  let home: TestHome;
  let lock: string;
  beforeEach(async () => {
    home = await testHome();
    lock = `${home.config}.lock`;
    await home.put(mine);
  });
  afterEach(() => home.remove());
  const text = (): Promise<string> => readFile(home.config, 'utf8');
  /** As kubectl creates it: empty, mode 0. */
  const kubectlLocks = async (): Promise<void> => {
    await writeFile(lock, '', { mode: 0, flag: 'wx' });
    await chown(lock, home.user.uid, home.user.gid);
  };

  it('is awaited while a kubectl holds it, and what that kubectl wrote is kept', async () => {
    await kubectlLocks();
    const update = updateKubeconfig(home.user, wanted, options());
    await sleep(150);
    expect(await text()).toBe(mine);
    await home.put(`${mine}# written by the other\n`);
    await rm(lock);
    expect(await update).toMatchObject({ changed: true });
    expect(await text()).toContain('# written by the other\n');
    expect(await readdir(join(home.config, '..'))).toEqual(['config']);
  });

  it('is not awaited longer than the deadline', async () => {
    await kubectlLocks();
    const started = performance.now();
    await expect(updateKubeconfig(home.user, wanted, options(200))).rejects.toMatchObject({
      code: 'kubeconfig-locked',
      exitCode: 75,
      hint: expect.stringContaining(`rm ${lock}`) as string,
    });
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(await text()).toBe(mine);
    expect((await readdir(join(home.config, '..'))).sort()).toEqual(['config', 'config.lock']);
  });

  it('is taken from a kubectl that was killed, with a warning', async () => {
    await kubectlLocks();
    await utimes(lock, minutesAgo(2), minutesAgo(2));
    const given = options();
    expect(await updateKubeconfig(home.user, wanted, given)).toMatchObject({ changed: true });
    expect(given.lines.join('\n')).toMatch(/^level=warning .*code=kubeconfig-lock-taken-over/);
    expect(await readdir(join(home.config, '..'))).toEqual(['config']);
  });

  it('is not taken because this host’s clock is ahead', async () => {
    await kubectlLocks();
    const now = Date.now;
    Date.now = () => now() + 3_600_000;
    try {
      await expect(updateKubeconfig(home.user, wanted, options(200))).rejects.toMatchObject({
        code: 'kubeconfig-locked',
      });
    } finally {
      Date.now = now;
    }
    expect((await lstat(lock)).isFile()).toBe(true);
  });

  it('is awaited if another host with the same home holds it', async () => {
    await symlink('berth:another-boot:1:99999999:abc', lock);
    await expect(updateKubeconfig(home.user, wanted, options(200))).rejects.toMatchObject({
      code: 'kubeconfig-locked',
    });
  });

  it('is taken by only one of many that find its owner dead', async () => {
    await kubectlLocks();
    await utimes(lock, minutesAgo(2), minutesAgo(2));
    const writers = Array.from({ length: 8 }, (_, index) => startWriter(home, 3, `c${index}`));
    expect(await Promise.all(writers.map(ended))).toEqual(writers.map(() => 0));
    expect(clusterNames(await text()).sort()).toEqual(writers.map((_, index) => `c${index}`));
    expect(await readdir(join(home.config, '..'))).toEqual(['config']);
  });

  /** What must be true after any kill. @returns the files beside the kubeconfig */
  const nextLoginMends = async (moment: number): Promise<string[]> => {
    const left = (await readdir(join(home.config, '..'))).filter((name) => name !== 'config');
    const found = await text();
    expect(found.startsWith(mine)).toBe(true);
    expect(parse(found)).toMatchObject({ kind: 'Config', users: [{ name: 'bob' }] });
    const value = { server: `https://next.example.org:${moment}` };
    await updateKubeconfig(home.user, [{ cluster: { name: 'next', value } }], options(2_000));
    expect(await text()).toContain(value.server);
    return left;
  };

  it.each([
    { given: 'the lock is free', dead: false, leaves: ['.config.berth-*', 'config.lock'] },
    {
      given: 'the lock is one of a dead kubectl',
      dead: true,
      leaves: ['.config.berth-*', 'config.lock', 'config.lock.takeover'],
    },
  ])(
    'and its file survive kill -9 before every single step, when $given: old or new, and the next login is at once',
    { timeout: 180_000 },
    async ({ dead, leaves }) => {
      const left = new Set<string>();
      for (let step = 1; ; step++) {
        await rm(join(home.config, '..'), { recursive: true });
        await home.put(mine);
        if (dead) {
          await kubectlLocks();
          await utimes(lock, minutesAgo(2), minutesAgo(2));
        }
        const child = start(killedWriter, home, String(step));
        if ((await ended(child)) === 0) {
          expect(step).toBeGreaterThan(15);
          break;
        }
        expect(child.signalCode).toBe('SIGKILL');
        for (const name of await nextLoginMends(step))
          left.add(name.replace(/berth-.*/, 'berth-*'));
        expect(await readdir(join(home.config, '..'))).not.toContain('config.lock');
      }
      expect([...left].sort()).toEqual(leaves);
    },
  );

  it(
    `and its file survive kill -9 at ${repetitions(12, 60)} random moments of login after login`,
    { timeout: 120_000 },
    async () => {
      const random = seededRandom(9);
      for (let moment = 0; moment < repetitions(12, 60); moment++) {
        const child = startWriter(home, 1_000, 'victim');
        await ready(child);
        await sleep(random() * 60);
        child.kill('SIGKILL');
        await ended(child);
        expect(child.signalCode).toBe('SIGKILL');
        await nextLoginMends(moment);
      }
    },
  );
});

function startWriter(home: TestHome, count: number, name: string): Writer {
  return start(writer, home, String(count), name);
}

type Writer = ChildProcessByStdio<null, Readable, null>;

function start(script: URL, { user }: TestHome, ...args: readonly string[]): Writer {
  return spawn(process.execPath, [script.pathname, user.home, String(user.uid), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function ready(child: Writer): Promise<void> {
  const early = once(child, 'exit').then(() => Promise.reject(new Error('the writer ended')));
  await Promise.race([once(child.stdout, 'data'), early]);
}

async function ended(child: Writer): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

function clusterNames(text: string): string[] {
  return (parse(text) as { clusters: { name: string }[] }).clusters.map(({ name }) => name);
}
