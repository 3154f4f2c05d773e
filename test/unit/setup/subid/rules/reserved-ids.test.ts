import { describe, expect, it } from 'vitest';
import { parseSubordinateFile } from '../../../../../src/system/identity/subordinate-file.ts';
import type { ReservedIds } from '../../../../../src/setup/subid/rules/directory-ids.ts';
import {
  planSubordinateIds,
  type SubordinatePlan,
} from '../../../../../src/setup/subid/rules/subordinate-plan.ts';
import type {
  SubordinateFileName,
  SubordinateLayout,
} from '../../../../../src/setup/subid/rules/subordinate-input.ts';

const users = ['alice', 'bob'].map((name, nth) => ({ name, uid: 1000 + nth, gid: 1000 + nth }));
const defaults = { firstUid: 1000, base: 655_360_000, size: 65_536 };
const theirs = { start: 850_000, count: 10, name: 'theirs' };

function plan(
  reserved: readonly ReservedIds[],
  layout: SubordinateLayout = defaults,
  texts: Partial<Record<SubordinateFileName, string>> = {},
  unlisted: readonly string[] = [],
): SubordinatePlan {
  const { subuid = '', subgid = '' } = texts;
  return planSubordinateIds({
    users,
    files: { subuid: parseSubordinateFile(subuid), subgid: parseSubordinateFile(subgid) },
    real: { subuid: [{ id: 1000, name: 'user alice' }], subgid: [] },
    directory: { reserved, unlisted },
    layout,
  });
}

describe('IDs of people whom nobody lists', () => {
  it.each([
    ['above', { start: 200_000, count: 2_000_000_001 }, 2_000_224_256],
    ['below', { start: 2_000_000, count: 4_292_967_295 }, 524_288],
  ])('are in no range, and another base %s theirs has room', (_where, range, base) => {
    const reserved = [{ ...range, name: "the range of sssd's domain a" }];
    const { problems } = plan(reserved);
    expect(problems).toMatchObject([
      { code: 'subid-overlaps-account', user: 'alice' },
      { code: 'subid-overlaps-account', user: 'bob' },
    ]);
    expect(problems[0]?.message).toContain("which is the range of sssd's domain a");
    expect(plan(reserved, { ...defaults, base }).problems).toEqual([]);
  });

  it('keep everyone without a range from one, if they are not known', () => {
    const text = 'bob:524288:65536\n';
    const found = plan([], defaults, { subuid: text, subgid: text }, ["sssd's domain a"]);
    expect(found).toMatchObject({ complete: 1 });
    expect(found.problems).toMatchObject([{ code: 'subid-people-unknown', user: 'alice' }]);
  });

  it.each<[string, SubordinateFileName, string, string]>([
    ["a user's UID", 'subuid', 'x:900:101\n', '1000, which is user alice'],
    ['IDs of a directory', 'subuid', 'x:800000:65536\n', 'IDs of 850000-850009, which is theirs'],
    ['IDs of a directory', 'subgid', 'x:850009:2\n', 'IDs of 850000-850009, which is theirs'],
  ])('and %s are an error in an entry of %s', (_what, file, text, held) => {
    const { problems, warnings } = plan([theirs], defaults, { [file]: text });
    expect(problems).toMatchObject([{ code: 'subid-entry-holds-account', file, line: 1 }]);
    expect(problems[0]?.message).toContain(`contains ${held}`);
    expect(warnings).toEqual([]);
  });

  it('may be those of groups that users map', () => {
    expect(plan([theirs], defaults, { subgid: 'alice:850009:1\n' }).problems).toEqual([]);
  });
});
