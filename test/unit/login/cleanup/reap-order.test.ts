import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  nextReapRound,
  reapOrder,
  reapTimeoutMs,
} from '../../../../src/login/cleanup/reap-sessions.ts';

const nobody = new Set<number>();

describe('the turns of users', () => {
  it('come in order; who took too long last time is last', () => {
    expect(reapOrder([3, 1, 2], { slow: new Set([1]), unreached: nobody })).toEqual([2, 3, 1]);
  });

  it('come first for those whose turn did not come last time', () => {
    const last = { slow: new Set([1, 5]), unreached: new Set([4, 5]) };

    expect(reapOrder([1, 2, 3, 4, 5], last)).toEqual([4, 2, 3, 5, 1]);
  });

  it('come for everybody, however many hang: in each round others of them', () => {
    const hanging = [1, 2, 3, 4, 5, 6, 7];
    const uids = [...hanging, 8, 9];
    let last = { slow: nobody, unreached: nobody } as ReturnType<typeof nextReapRound>;
    const came: number[][] = [];
    for (let round = 0; round < 4; round += 1) {
      const order = reapOrder(uids, last);
      // Four of them take the time of a round.
      const fourth = order.indexOf(order.filter((uid) => hanging.includes(uid))[3] ?? 0);
      const reached = order.slice(0, fourth + 1);
      came.push(reached);
      const late = new Set(reached.filter((uid) => hanging.includes(uid)));
      last = nextReapRound(order, last, { reached: new Set(reached), late });
    }
    expect(came).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8, 9, 1],
      [8, 9, 2, 3, 4, 1],
      [8, 9, 5, 6, 7, 1],
    ]);
  });

  it('come for everybody, however many take nearly the time of a turn and are not late', () => {
    const hostile = Array.from({ length: 20 }, (_, n) => n + 1);
    const uids = [...hostile, 100, 101];
    let last: ReturnType<typeof nextReapRound> = { slow: nobody, unreached: nobody };
    const rounds: number[] = [];
    for (let round = 1; round <= 18; round += 1) {
      const order = reapOrder(uids, last);
      const fifth = order.indexOf(order.filter((uid) => uid < 100)[4] ?? 0);
      const reached = new Set(order.slice(0, fifth));
      if (reached.has(101)) rounds.push(round);
      last = nextReapRound(order, last, { reached, late: nobody });
    }
    // Four of the twenty in each round: whoever waits has passed all of them after five.
    expect(rounds).toEqual([5, 10, 15]);
  });
});

it('all turns together end before systemd ends them', () => {
  const unit = new URL('../../../../etc/systemd/berth-reap.service', import.meta.url);
  const [, minutes] = /^TimeoutStartSec=([0-9]+)min$/m.exec(readFileSync(unit, 'utf8')) ?? [];

  expect(Number(minutes) * 60_000).toBeGreaterThanOrEqual(reapTimeoutMs + 60_000);
});
