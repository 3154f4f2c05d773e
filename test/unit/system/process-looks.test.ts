import { describe, expect, it } from 'vitest';
import { ProcessLooks } from '../../../src/system/process-looks.ts';
import type { ProcessFacts } from '../../../src/system/processes.ts';

const facts = (pid: number, uid: number): ProcessFacts => ({
  ...{ pid, uid, start: '1', parent: 1, leader: pid, stopped: false, session: undefined },
  pids: [pid],
});

const pidsOf = (processes: readonly ProcessFacts[]): Map<number, number[]> =>
  new Map(
    [...Map.groupBy(processes, ({ uid }) => uid)].map(([uid, all]) => [
      uid,
      all.map(({ pid }) => pid),
    ]),
  );

/** Looks at these processes, and how many there have been. */
function looksAt(processes: readonly ProcessFacts[]): { looks: ProcessLooks; count: () => number } {
  let count = 0;
  const looks = new ProcessLooks(60_000, {
    pids: () => {
      count += 1;
      return pidsOf(processes);
    },
    facts: (wanted) => processes.find(({ pid }) => pid === wanted),
  });
  return { looks, count: () => count };
}

describe('a recent look', () => {
  it('is one for a thousand users', () => {
    const { looks, count } = looksAt([facts(10, 1000), facts(11, 1001), facts(12, 1000)]);
    const pidsOf = (uid: number): number[] =>
      looks.recent((one) => one === uid).map(({ pid }) => pid);
    for (let uid = 1; uid < 1000; uid += 1) expect(pidsOf(uid)).toEqual([]);
    expect([pidsOf(1000), pidsOf(1001)]).toEqual([[10, 12], [11]]);
    expect(count()).toBe(1);
  });

  it('looks at no process of another user, which might not answer', () => {
    const looked: number[] = [];
    const looks = new ProcessLooks(60_000, {
      pids: () => pidsOf([facts(10, 1000), facts(11, 1001)]),
      facts: (pid) => {
        looked.push(pid);
        return facts(pid, 1000);
      },
    });
    expect(looks.recent((one) => one === 1000)).toHaveLength(1);
    expect(looked).toEqual([10]);
  });

  it('is taken again when it is too old', () => {
    let uid = 1000;
    const looks = new ProcessLooks(-1, {
      pids: () => new Map([[uid, [10]]]),
      facts: (pid) => facts(pid, uid),
    });
    expect(looks.recent(() => true)).toHaveLength(1);
    uid = 1001;
    expect(looks.recent((one) => one === 1001)).toHaveLength(1);
  });
});

describe('a fresh look', () => {
  it('is shared by all who wait for one, and each gets what they want', async () => {
    const { looks, count } = looksAt([facts(10, 1000), facts(11, 1001), facts(12, 1002)]);
    const found = await Promise.all(
      [1000, 1001, 1003].map((uid) => looks.fresh((one) => one === uid)),
    );
    expect(found.map((all) => all.map(({ pid }) => pid))).toEqual([[10], [11], []]);
    expect(count()).toBe(1);
  });

  it('begins after the call: one who comes when it has begun gets the next', async () => {
    const running: ProcessFacts[] = [];
    const { looks, count } = looksAt(running);
    looks.recent(() => true);
    const first = looks.fresh(() => true);
    running.push(facts(10, 1000));
    expect(await first).toHaveLength(1);
    running.push(facts(11, 1000));
    expect(await looks.fresh(() => true)).toHaveLength(2);
    expect(count()).toBe(3);
  });

  it('fails for all who wait for it, and the next may succeed', async () => {
    let fails = true;
    const looks = new ProcessLooks(60_000, {
      pids: () => {
        if (fails) throw new Error('no /proc');
        return new Map([[1000, [10]]]);
      },
      facts: (pid) => facts(pid, 1000),
    });
    const both = await Promise.allSettled([looks.fresh(() => true), looks.fresh(() => true)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await looks.fresh(() => true)).toHaveLength(1);
  });
});
