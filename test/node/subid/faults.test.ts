import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { repetitions } from '../../rig/soak.ts';
import { berth, EtcDirectory } from './etc-directory.ts';

const isRoot = process.getuid?.() === 0;
let etc: EtcDirectory;

beforeAll(() => ensurePackages(['passwd', 'util-linux']));
beforeEach(async () => {
  etc = await EtcDirectory.make([
    { name: 'alice', uid: 1000 },
    { name: 'bob', uid: 1001 },
  ]);
});
afterEach(() => etc.remove());

describe('the lock', () => {
  it('of a running tool is waited for, and its owner is named', async () => {
    await etc.write('subgid.lock', `${process.pid}\0`);
    const { exitCode, stderr } = await etc.subid('apply');
    expect(exitCode).toBe(75);
    expect(stderr).toContain(`process ${process.pid} (`);
    expect(stderr).toContain('[lock-timeout]');
    // That of the first file is given back.
    expect(await etc.leftovers()).toEqual(['subgid.lock']);
  });

  it('of a dead process is taken over, but not one without a process ID', async () => {
    const dead = spawn('true');
    await once(dead, 'exit');
    await etc.write('subuid.lock', `${dead.pid ?? 0}\0`);
    expect((await etc.subid('apply')).exitCode).toBe(0);
    expect(await etc.leftovers()).toEqual([]);
    await etc.write('subuid.lock', 'hello');
    expect((await etc.subid('apply')).stderr).toContain('[lock-unreadable]');
  });

  it.runIf(isRoot)(
    'is that of usermod: of many at once no line is lost (as root)',
    async () => {
      // Files so long that each writer needs a while from reading to writing.
      const foreign = Array.from(
        { length: 60_000 },
        (_, nth) => `x${nth}:${1_000_000 + nth * 2}:2\n`,
      );
      const people = Array.from({ length: 6 }, (_, nth) => ({ name: `u${nth}`, uid: 1000 + nth }));
      await etc.people(people);
      await etc.write('subuid', foreign.join(''));
      await etc.write('subgid', '');
      await etc.write('shadow', people.map(({ name }) => `${name}:!:1::::::\n`).join(''));
      const layout = ['--base', '2000000'];
      await Promise.all(
        people.map(async ({ name }, nth) => {
          await etc.subid('apply', name, ...layout);
          const range = `${500_000_000 + nth * 10}-${500_000_009 + nth * 10}`;
          await execa('usermod', ['--prefix', etc.root, '--add-subuids', range, name]);
        }),
      );
      const added = (await etc.read('subuid')).split('\n').slice(foreign.length, -1);
      expect(added.sort()).toEqual(
        people
          .flatMap(({ name }, nth) => [
            `${name}:${2_000_000 + nth * 65_536}:65536`,
            `${name}:${500_000_000 + nth * 10}:10`,
          ])
          .sort(),
      );
      expect((await etc.leftovers()).filter((name) => !name.startsWith('shadow'))).toEqual([]);
    },
    120_000,
  );
});

describe('a run that is killed', () => {
  const people = Array.from({ length: 20_000 }, (_, nth) => ({ name: `u${nth}`, uid: 1000 + nth }));
  const lineCount = (text: string): number => text.split('\n').length - 1;

  it('by kill -9 at any moment leaves complete files, and the next run finishes the work', async () => {
    await etc.people(people);
    const left: number[] = [];
    for (let round = 0; round < repetitions(6, 48); round += 1) {
      await etc.write('subuid', '');
      await etc.write('subgid', '');
      const run = spawn(berth, ['subid', 'apply', '--prefix', etc.root], { stdio: 'ignore' });
      await untilLocked(run);
      await sleep((round % 12) * 25);
      run.kill('SIGKILL');
      await ended(run);
      const counts = await Promise.all(
        ['subuid', 'subgid'].map((file) => etc.read(file).then(lineCount)),
      );
      for (const count of counts) expect([0, people.length]).toContain(count);
      left.push((await etc.leftovers()).length);
      expect((await etc.subid('apply')).exitCode).toBe(0);
      for (const file of ['subuid', 'subgid'])
        expect(lineCount(await etc.read(file))).toBe(people.length);
      expect(await etc.leftovers()).toEqual([]);
    }
    // Else no run was met at its work.
    expect(Math.max(...left)).toBeGreaterThan(0);
  });

  it.runIf(isRoot)('by a full disk leaves both files as they were (as root)', async () => {
    await etc.people(people);
    const small = etc.path('etc');
    await rename(small, etc.path('before'));
    await mkdir(small);
    await execa('mount', ['-t', 'tmpfs', '-o', 'size=1500k', 'berth-test', small]);
    try {
      await execa('cp', ['-a', `${etc.path('before')}/.`, small]);
      await etc.write('subuid', 'eve:100:1\n');
      await etc.write('subgid', 'eve:100:1\n');
      const { exitCode, stderr } = await etc.subid('apply');
      expect(exitCode).toBe(74);
      expect(stderr).toContain('[disk-full]');
      for (const file of ['subuid', 'subgid']) expect(await etc.read(file)).toBe('eve:100:1\n');
      expect(await etc.leftovers()).toEqual([]);
    } finally {
      await execa('umount', ['--lazy', small]);
    }
  });

  async function untilLocked(run: ChildProcess): Promise<void> {
    await waitFor({ what: 'the lock', timeoutMs: 60_000, everyMs: 2 }, async () =>
      run.exitCode !== null || (await etc.leftovers()).includes('subuid.lock') ? true : undefined,
    );
  }
});

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
