import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asInvoker, asRoot, asUser, assertRoot } from '../../../src/system/as-user.ts';

const ann = { name: 'ann', uid: 64_401, gid: 64_402, groups: [64_402, 64_403] };
const bob = { name: 'bob', uid: 64_411, gid: 64_412, groups: [64_412] };
const identity = (): unknown => [process.geteuid?.(), process.getegid?.(), process.getgroups?.()];
/** What a section leaves for the next of the same turn is taken off by then. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe.runIf(process.getuid?.() === 0)('file work as a user (as root)', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-as-user-'));
    await chmod(directory, 0o755);
    for (const { name, uid, gid } of [ann, bob]) {
      await mkdir(join(directory, name), { mode: 0o700 });
      await chown(join(directory, name), uid, gid);
    }
    await writeFile(join(directory, 'of-root'), 'secret', { mode: 0o600 });
    await writeFile(join(directory, 'of-group'), 'shared', { mode: 0o040 });
    await chown(join(directory, 'of-group'), 0, 64_403);
    await chmod(join(directory, 'of-group'), 0o040);
  });
  afterAll(() => rm(directory, { recursive: true }));

  it("makes the user's own files, on every thread of the pool", async () => {
    const owners = await asUser(ann, () =>
      Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const file = join(directory, 'ann', String(index));
          await writeFile(file, '');
          const { uid, gid } = await stat(file);
          return [uid, gid];
        }),
      ),
    );
    expect(owners).toEqual(owners.map(() => [ann.uid, ann.gid]));
  });

  it("reads what the user's groups may read, and nothing that only root may", async () => {
    const read = (file: string) => () => readFile(join(directory, file), 'utf8');
    expect(await asUser(ann, read('of-group'))).toBe('shared');
    await expect(asUser(bob, read('of-group'))).rejects.toMatchObject({ code: 'EACCES' });
    await expect(asUser(ann, read('of-root'))).rejects.toMatchObject({ code: 'EACCES' });
    await expect(asUser(ann, read('bob/x'))).rejects.toMatchObject({ code: 'EACCES' });
    expect(await asRoot(read('of-root'))).toBe('secret');
  });

  it('ends as root when the event loop turns, whatever happened inside', async () => {
    const before = identity();
    await expect(asUser(ann, () => Promise.reject(new Error('inside')))).rejects.toThrow('inside');
    await turn();
    expect(identity()).toEqual(before);
    await expect(
      asUser(ann, () => {
        throw new Error('at once');
      }),
    ).rejects.toThrow('at once');
    await turn();
    expect(identity()).toEqual(before);
  });

  it("is followed by work of root or another user without the first user's credentials", async () => {
    const before = identity();
    const seen = await Promise.all([
      asUser(ann, () => Promise.resolve(identity())),
      asUser(ann, () => Promise.resolve(identity())),
      asUser(bob, () => Promise.resolve(identity())),
      asRoot(identity),
      asUser(ann, () => Promise.resolve(identity())),
      asInvoker(identity),
    ]);
    const [asAnn, asBob] = [ann, bob].map(({ uid, gid, groups }) => [uid, gid, groups]);
    expect(seen).toEqual([asAnn, asAnn, asBob, before, asAnn, before]);
  });

  it('never mixes two users, nor a user and root', async () => {
    const seen = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const who = [ann, bob, undefined][index % 3];
        const work = async (): Promise<boolean> => {
          const file = join(directory, who?.name ?? '', `mixed-${index}`);
          await writeFile(file, '');
          await new Promise((resolve) => setTimeout(resolve, index % 4));
          const { uid } = await stat(file);
          return uid === (who?.uid ?? 0) && process.geteuid?.() === (who?.uid ?? 0);
        };
        return who === undefined ? asRoot(work) : asUser(who, work);
      }),
    );
    expect(seen).toEqual(seen.map(() => true));
  });

  it('tells inside a section that this is not root', async () => {
    const inside = asUser(ann, async () => {
      await Promise.resolve();
      assertRoot();
    });
    await expect(inside).rejects.toMatchObject({ code: 'not-root' });
    await turn();
    expect(assertRoot).not.toThrow();
  });

  it('lets timers run while the work waits', async () => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    await asUser(ann, () => new Promise((resolve) => setTimeout(resolve, 100)));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
  });
});
