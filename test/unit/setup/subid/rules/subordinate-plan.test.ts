import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../../rig/seeded-random.ts';
import {
  type KnownId,
  type SubordinateLayout,
  type SubordinateUser,
} from '../../../../../src/setup/subid/rules/subordinate-input.ts';
import {
  entryLine,
  parseSubordinateFile,
} from '../../../../../src/system/identity/subordinate-file.ts';
import {
  planSubordinateIds,
  type SubordinatePlan,
} from '../../../../../src/setup/subid/rules/subordinate-plan.ts';

const layout = { firstUid: 1000, base: 524_288, size: 65_536 };

interface Machine {
  readonly subuid?: string;
  readonly subgid?: string;
  readonly accounts?: readonly KnownId[];
  readonly groups?: readonly KnownId[];
}

function plan(
  users: readonly SubordinateUser[],
  { subuid = '', subgid = '', accounts = [], groups = [] }: Machine = {},
  wanted: Partial<SubordinateLayout> = {},
): SubordinatePlan {
  return planSubordinateIds({
    users,
    files: { subuid: parseSubordinateFile(subuid), subgid: parseSubordinateFile(subgid) },
    real: { subuid: accounts, subgid: groups },
    directory: { reserved: [], unlisted: [] },
    layout: { ...layout, ...wanted },
  });
}

const user = (name: string, uid: number, groups?: readonly number[]): SubordinateUser => ({
  name,
  uid,
  gid: uid,
  ...(groups === undefined ? {} : { groups }),
});
const alice = user('alice', 1000);
const bob = user('bob', 1001);
const added = ({ add }: SubordinatePlan): Record<string, string[]> => ({
  subuid: add.subuid.map(entryLine),
  subgid: add.subgid.map(entryLine),
});
const codes = (faults: SubordinatePlan['warnings']): string[] => faults.map(({ code }) => code);

describe('the range of a user', () => {
  it('follows from the UID alone, in both files', () => {
    const both = ['alice:524288:65536', 'bob:589824:65536'];
    expect(added(plan([alice, bob]))).toEqual({ subuid: both, subgid: both });
    // On another node there may be other users, in another order.
    expect(added(plan([user('zoe', 1400), bob])).subuid).toContain('bob:589824:65536');
  });

  it('is the second half of a file where a run was killed between the two', () => {
    const half = plan([alice, bob], { subuid: 'alice:524288:65536\nbob:589824:65536\n' });
    expect(added(half)).toEqual({
      subuid: [],
      subgid: ['alice:524288:65536', 'bob:589824:65536'],
    });
  });

  it.each([
    ['by name', 'alice:100000:65536\n'],
    ['by UID', '1000:100000:65536\n'],
    ['in several ranges', 'alice:100000:1000\nbob:5000000:65536\nalice:300000:1000\n'],
    ['smaller than the size', 'alice:100000:2\n'],
    ['written as strtoul reads it', 'alice:0x186A0:0200000\n'],
  ])('stays what it is when it is there %s', (_how, text) => {
    const found = plan([alice], { subuid: text, subgid: text });
    expect({ ...added(found), complete: found.complete }).toEqual({
      subuid: [],
      subgid: [],
      complete: 1,
    });
  });

  it('is written under the UID for a name of digits, which would be read as one', () => {
    expect(added(plan([user('1001', 1000)])).subuid).toEqual(['1000:524288:65536']);
    // bob has UID 1001: the line is his.
    expect(
      added(plan([user('1001', 1000), bob], { subuid: '1001:9000000:65536\n' })).subuid,
    ).toEqual(['1000:524288:65536']);
  });

  it('belongs to a UID: a second name of it has the same', () => {
    expect(added(plan([alice, user('alias', 1000)])).subuid).toEqual(['alice:524288:65536']);
  });

  it('lies for any users within 32 bits, over no account, no group, no entry and no other range', () => {
    const random = seededRandom(4);
    const wrong: string[] = [];
    let problemCount = 0;
    for (let round = 0; round < 300; round += 1) {
      const size = 2 ** Math.floor(4 + random() * 14);
      const users = distinctIds(random, 30, 100_000).map((uid) => user(`u${uid}`, uid));
      const accounts = distinctIds(random, 20, 2 ** 32).map((id) => ({ id, name: `a${id}` }));
      const entries = distinctIds(random, 10, 2 ** 31)
        .map((start, index) => `x${index}:${start}:${Math.ceil(random() * 1e6)}\n`)
        .join('');
      const machine = { subuid: entries, subgid: entries, accounts, groups: accounts };
      const base = 2 ** 20;
      const { add, problems } = plan(users, machine, { firstUid: 0, base, size });
      const existing = parseSubordinateFile(entries).entries;
      problemCount += problems.length;
      for (const { uid } of users) {
        const start = base + uid * size;
        const hit = (id: number, count = 1): boolean => id < start + size && id + count > start;
        const free =
          start + size <= 0xffff_ffff &&
          !accounts.some(({ id }) => hit(id)) &&
          !users.some((one) => hit(one.uid)) &&
          !existing.some((one) => hit(one.start, one.count));
        const range = add.subuid.find(({ owner }) => owner === `u${uid}`);
        const refused = problems.some((problem) => problem.uid === uid);
        if (free === refused || free !== (range?.start === start && range.count === size))
          wrong.push(`round ${round}, UID ${uid}`);
      }
      const sorted = [...add.subuid].sort((a, b) => a.start - b.start);
      for (const [nth, { start }] of sorted.entries())
        if (start < (sorted[nth - 1]?.start ?? -size) + size) wrong.push(`round ${round}: overlap`);
    }
    expect(wrong).toEqual([]);
    expect(problemCount).toBeGreaterThan(100);
  });
});

describe('a user without room', () => {
  it('is one whose IDs would go beyond 32 bits; a smaller size has room', () => {
    const last = user('last', 66_526);
    const many = user('many', 66_527);
    const found = plan([alice, last, many]);
    expect(found.add.subuid.map(({ owner }) => owner)).toEqual(['alice', 'last']);
    expect(codes(found.problems)).toEqual(['subid-uid-does-not-fit']);
    expect(found.problems[0]?.message).toContain('the highest UID that gets a range is 66526');
    expect(plan([alice, last, many], {}, { size: 32_768 }).problems).toEqual([]);
  });

  it('has room where another UID is the first', () => {
    const ldap = [user('ann', 2_000_000_000), user('ben', 2_000_000_007)];
    const found = plan(ldap);
    expect(codes(found.problems)).toEqual(['subid-uid-does-not-fit', 'subid-uid-does-not-fit']);
    expect(plan(ldap, {}, { firstUid: 2_000_000_000 }).problems).toEqual([]);
  });

  it('can have the very last UID there is', () => {
    const last = user('last', 4_294_967_294);
    expect(added(plan([last], {}, { firstUid: 4_294_967_294 })).subuid).toEqual([
      'last:524288:65536',
    ]);
  });

  it.each<[string, Machine, string]>([
    ["another's entry", { subuid: 'eve:600000:10\n' }, 'subid-overlaps-entry'],
    ["another's entry in subgid only", { subgid: 'eve:655359:1\n' }, 'subid-overlaps-entry'],
    ['an account', { accounts: [{ id: 655_359, name: 'user eve' }] }, 'subid-overlaps-account'],
    ['a group', { groups: [{ id: 589_824, name: 'group staff' }] }, 'subid-overlaps-account'],
  ])('is one whose range holds %s; another base has room', (_what, machine, code) => {
    const found = plan([alice, bob], machine);
    expect(codes(found.problems)).toEqual([code]);
    expect(found.problems[0]).toMatchObject({ user: 'bob', uid: 1001 });
    expect(added(found).subuid).toEqual(['alice:524288:65536']);
    expect(plan([alice, bob], machine, { base: 720_896 }).problems).toEqual([]);
  });

  it('is not one whose neighbours only touch', () => {
    const machine = {
      subuid: 'eve:589814:10\nfay:655360:10\n',
      accounts: [
        { id: 589_813, name: 'user x' },
        { id: 655_360, name: 'user y' },
      ],
    };
    expect(added(plan([bob], machine)).subuid).toEqual(['bob:589824:65536']);
  });
});

describe('the files as they are', () => {
  it.each([
    ['an overlap of two users', 'x:100000:65536\ny:165535:10\n', 'subid-entries-overlap', 2],
    ['an overlap of one user', 'x:100000:65536\nx:100000:65536\n', 'subid-entries-overlap', 2],
    [
      'an overlap far behind',
      'x:100000:900000\ny:200000:1\nz:300000:5\n',
      'subid-entries-overlap',
      2,
    ],
    ['no entry at all', 'x:100000:65536\nx:y:65536\n', 'subid-entry-malformed', 2],
    ['too many fields', 'x:1:2:3\n', 'subid-entry-malformed', 1],
    ['an empty range', 'x:100000:0\n', 'subid-entry-malformed', 1],
    ['a line that shadow cuts', `${'x'.repeat(1020)}:1:1\n`, 'subid-entry-malformed', 1],
    ['an end beyond 32 bits', 'x:4294967000:65536\n', 'subid-entry-beyond-ids', 1],
  ])('are reported where they hold %s', (_what, subuid, code, line) => {
    const { warnings } = plan([], { subuid, accounts: [{ id: 1000, name: 'user alice' }] });
    expect(warnings[0]).toMatchObject({ code, file: 'subuid', line });
  });

  it.each([
    ['comments and empty lines', '# by hand\n\nx:100000:1\n'],
    ['neighbours', 'x:100000:65536\ny:165536:65536\n'],
    ['no newline at the end', 'x:100000:65536'],
  ])('are well with %s', (_what, subuid) => {
    expect(plan([], { subuid }).warnings).toEqual([]);
  });

  it('are well where members of a group map the one GID', () => {
    const groups = [{ id: 5000, name: 'group proj' }];
    const subgid = 'x:5000:1\ny:5000:1\n';
    expect(plan([], { subgid, groups })).toMatchObject({ problems: [], warnings: [] });
    expect(codes(plan([], { subuid: subgid }).warnings)).toEqual(['subid-entries-overlap']);
  });
});

describe('supplementary groups', () => {
  it('are one ID each in subgid, behind the range; the primary one and root are none', () => {
    expect(added(plan([user('alice', 1000, [5002, 1000, 0, 5001])])).subgid).toEqual([
      'alice:524288:65536',
      'alice:5001:1',
      'alice:5002:1',
    ]);
  });

  it('are added where they are missing, and no range is taken for one', () => {
    const machine = { subuid: 'alice:1:9\n', subgid: 'alice:5001:1\n' };
    expect(added(plan([user('alice', 1000, [5001, 5002])], machine)).subgid).toEqual([
      'alice:524288:65536',
      'alice:5002:1',
    ]);
  });

  it('that the user has left are reported, and stay', () => {
    const found = plan([user('alice', 1000, [])], { subgid: 'alice:9:2\nalice:5001:1\n' });
    expect(codes(found.warnings)).toEqual(['subid-former-group']);
    expect(added(found).subgid).toEqual([]);
  });

  it('are as many as a gid_map holds: less than a page, at most 340 lines', () => {
    const gids = (first: number): number[] => Array.from({ length: 400 }, (_, nth) => first + nth);
    const short = plan([user('alice', 1000, gids(100))]);
    expect(short.add.subgid).toHaveLength(1 + 338);
    const long = plan([user('alice', 1000, gids(2_000_000_000))]);
    // `65537 2000000000 1` and its newline are 19 bytes; the two lines before them 24.
    expect(long.add.subgid).toHaveLength(1 + Math.floor((4095 - 24) / 19));
    expect(codes(long.warnings)).toEqual(['subid-groups-do-not-fit']);
    expect(long.warnings[0]?.message).toMatch(/only 214 of the 400 groups of alice fit/);
  });
});

describe('the speed', () => {
  it(
    '50 000 users with ten groups each, beside 50 000 entries, are planned in two seconds',
    { timeout: 60_000 },
    () => {
      const users = Array.from({ length: 50_000 }, (_, nth) =>
        user(
          `u${nth}`,
          1000 + nth,
          Array.from({ length: 10 }, (_g, group) => 200_000 + group * 7),
        ),
      );
      const entries = Array.from(
        { length: 50_000 },
        (_, nth) => `u${nth}:${300_000 + nth * 10}:10\n`,
      );
      const before = process.cpuUsage();
      const found = plan(users, { subuid: entries.join('') }, { base: 1_048_576 });
      // What it takes of a processor: other tests may run beside it.
      const { user: own, system } = process.cpuUsage(before);
      expect((own + system) / 1e6).toBeLessThan(2);
      expect(found.add.subgid).toHaveLength(550_000);
      expect(found.problems).toEqual([]);
    },
  );
});

function distinctIds(random: () => number, count: number, below: number): number[] {
  return [...new Set(Array.from({ length: count }, () => Math.floor(random() * below)))];
}
