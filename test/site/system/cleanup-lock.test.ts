import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asBerthError } from '../../../src/system/errors/berth-error.ts';
import { withCleanupLock } from '../../../src/sessions/connections/user-lock.ts';

let run: string;
beforeEach(async () => {
  run = await mkdtemp(join(tmpdir(), 'berth-ended-'));
});
afterEach(() => rm(run, { recursive: true }));

const nothing = { removed: 0, failed: [] };

describe('what ends for all connections of a user', () => {
  it('runs once for all callers that wait, and again for later ones', async () => {
    let under = 0;
    const seen: number[] = [];
    let asked = 0;
    const ask = (): Promise<unknown> => {
      asked += 1;
      return withCleanupLock({ run }, 1000, 'pods', async () => {
        under += 1;
        expect(under).toBe(1);
        seen.push(asked);
        await sleep(200);
        under -= 1;
        return nothing;
      });
    };
    const first = ask();
    await sleep(100);
    await Promise.all([first, ...Array.from({ length: 29 }, ask)]);
    // The others came while it saw the first one only: one of them saw all.
    expect(seen).toEqual([1, 30]);
    await ask();
    expect(seen).toEqual([1, 30, 31]);
    expect(await readdir(join(run, 'ending'))).toEqual([]);
  });

  it('is not skipped after a run that failed, or a run for something else', async () => {
    let ends = 0;
    const failed = [asBerthError(new Error('no'), 'it')];
    const ask = (part: 'pods' | 'containers') =>
      withCleanupLock({ run }, 1000, part, async () => {
        ends += 1;
        await sleep(50);
        return part === 'pods' ? { removed: 0, failed } : nothing;
      });
    await Promise.all([ask('containers'), ask('pods'), ask('pods')]);
    expect(ends).toBe(3);
  });
});
