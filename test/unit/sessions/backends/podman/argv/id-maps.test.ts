import { describe, expect, it } from 'vitest';
import {
  groupMap,
  parseIdMap,
  userMap,
  type IdMapEntry,
} from '../../../../../../src/sessions/backends/podman/argv/id-maps.ts';

/** What a number inside is on the host, through both steps. */
function onHost(id: number, first: readonly IdMapEntry[], second: readonly IdMapEntry[]) {
  const step = (from: number, extents: readonly IdMapEntry[]): number | undefined => {
    const extent = extents.find(({ inside, count }) => inside <= from && from < inside + count);
    return extent && extent.outside + from - extent.inside;
  };
  const between = step(id, second);
  return between === undefined ? undefined : step(between, first);
}

/** As podman makes it of /etc/subgid: the GID is 0, then the subordinate ranges, lowest first. */
function firstStep(gid: number, ranges: readonly (readonly [number, number])[]): IdMapEntry[] {
  let inside = 1;
  const extents = [{ inside: 0, outside: gid, count: 1 }];
  for (const [outside, count] of [...ranges].sort(([one], [other]) => one - other)) {
    extents.push({ inside, outside, count });
    inside += count;
  }
  return extents;
}

const numbersOfAnImage = Array.from({ length: 65536 }, (_, id) => id);

describe('groupMap', () => {
  const first = firstStep(5502, [
    [165536, 65536],
    [7001, 1],
    [7002, 1],
  ]);

  it('keeps the numbers of the GID and of each supplementary group', () => {
    const map = groupMap(first, { gid: 5502, groups: [5502, 7001, 7002] }) ?? [];
    for (const gid of [5502, 7001, 7002]) expect(onHost(gid, first, map)).toBe(gid);
  });

  it('gives every other number a subordinate one', () => {
    const map = groupMap(first, { gid: 5502, groups: [5502, 7001, 7002] }) ?? [];
    for (const gid of [0, 1, 100, 5501, 5503, 7000, 7003, 65000])
      expect(onHost(gid, first, map)).toBeGreaterThanOrEqual(165536);
  });

  it('leaves it to keep-id where no group is a subordinate one', () => {
    expect(groupMap(firstStep(5502, [[165536, 65536]]), { gid: 5502, groups: [7001] })).toBe(
      undefined,
    );
  });

  it('puts groups that the user has left behind all numbers of an image', () => {
    const map = groupMap(first, { gid: 5502, groups: [5502, 7002] }) ?? [];
    expect(onHost(7002, first, map)).toBe(7002);
    expect(numbersOfAnImage.some((id) => onHost(id, first, map) === 7001)).toBe(false);
  });

  it('leaves no hole, for which podman would copy the image: a greater number is not kept', () => {
    const wide = firstStep(5502, [
      [165536, 65536],
      [7001, 1],
      [90001, 1],
    ]);
    const map = groupMap(wide, { gid: 5502, groups: [7001, 90001] }) ?? [];
    expect(onHost(7001, wide, map)).toBe(7001);
    for (const side of ['inside', 'outside'] as const) {
      const sorted = map.toSorted((a, b) => a[side] - b[side]);
      const ends = sorted.map((extent) => extent[side] + extent.count);
      expect(sorted.slice(1).map((extent) => extent[side])).toEqual(ends.slice(0, -1));
    }
    expect(numbersOfAnImage.some((id) => onHost(id, wide, map) === 90001)).toBe(false);
  });

  it('uses no number twice, on either side, for any groups', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = (below: number, salt: number) =>
        Math.floor(Math.abs(Math.sin(seed * 7919 + salt * 104729)) * below);
      const gid = 1000 + random(60000, 1);
      const groups = [
        ...new Set(Array.from({ length: 1 + random(20, 2) }, (_, n) => 100 + random(64000, n + 3))),
      ].filter((one) => one !== gid && one < 100000);
      const ranges = [
        [100000 + random(1e6, 40), 65536] as const,
        ...groups.map((one) => [one, 1] as const),
      ];
      const start = firstStep(gid, ranges);
      const map = groupMap(start, { gid, groups: [gid, ...groups] }) ?? [];
      for (const one of [gid, ...groups]) expect(onHost(one, start, map)).toBe(one);
      for (const side of ['inside', 'outside'] as const) {
        const sorted = map.toSorted((a, b) => a[side] - b[side]);
        for (const [n, extent] of sorted.entries())
          expect(extent[side]).toBeGreaterThanOrEqual(
            n === 0 ? 0 : (sorted[n - 1]?.[side] ?? 0) + (sorted[n - 1]?.count ?? 0),
          );
      }
      expect(map.reduce((sum, { count }) => sum + count, 0)).toBe(
        start.reduce((sum, { count }) => sum + count, 0),
      );
    }
  });
});

describe('userMap', () => {
  it('is what keep-id makes', () => {
    const first = firstStep(5502, [[165536, 65536]]);
    expect(userMap(first, 5502)).toEqual([
      { inside: 0, outside: 1, count: 5502 },
      { inside: 5502, outside: 0, count: 1 },
      { inside: 5503, outside: 5503, count: 65536 - 5502 },
    ]);
  });
});

describe('parseIdMap', () => {
  it('reads what the kernel writes', () => {
    expect(
      parseIdMap('         0       5502          1\n         1     165536      65536\n'),
    ).toEqual([
      { inside: 0, outside: 5502, count: 1 },
      { inside: 1, outside: 165536, count: 65536 },
    ]);
  });
});
