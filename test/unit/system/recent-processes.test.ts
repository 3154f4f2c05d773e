import { expect, it } from 'vitest';
import type { ProcessFacts } from '../../../src/system/processes.ts';
import { RecentProcesses } from '../../../src/system/recent-processes.ts';

const facts = (pid: number, uid: number): ProcessFacts => ({
  ...{ pid, uid, start: '1', parent: 1, leader: pid, stopped: false, session: undefined },
  pids: [pid],
});

it('a thousand users are looked up with one look at all processes', () => {
  let looks = 0;
  const recent = new RecentProcesses(60_000, () => {
    looks += 1;
    return [facts(10, 1000), facts(11, 1001), facts(12, 1000)];
  });
  const pidsOf = (uid: number): number[] => recent.of((one) => one === uid).map(({ pid }) => pid);
  for (let uid = 0; uid < 1000; uid += 1) expect(pidsOf(uid)).toEqual([]);
  expect([pidsOf(1000), pidsOf(1001)]).toEqual([[10, 12], [11]]);
  expect(looks).toBe(1);
});

it('a look that is too old is taken again', () => {
  let uid = 1000;
  const recent = new RecentProcesses(-1, () => [facts(10, uid)]);
  expect(recent.of(() => true)).toHaveLength(1);
  uid = 1001;
  expect(recent.of((one) => one === 1001)).toHaveLength(1);
});
