import { expect, it } from 'vitest';
import { parseSshdConfigLines } from '../../../../../src/setup/sshd-lint/rules/config-lines.ts';
import { parseMatchCriteria } from '../../../../../src/setup/sshd-lint/rules/match.ts';

/* Where releases of sshd differ. test/node/sshd-lint/match.test.ts compares with the sshd of this machine. */
const [rhel8, debian12, newest] = [800, 902, 1002];

it.each([
  ['AllowUsers=a=b # c', rhel8, ['a', 'b']],
  ['AllowUsers=a=b # c', debian12, ['a=b']],
  [`AllowGroups 'hpc users' "b c"d`, rhel8, ["'hpc", "users'", 'b c', 'd']],
  [`AllowGroups 'hpc users' "b c"d`, debian12, ['hpc users', 'b cd']],
  ['AllowGroups "a#b"', debian12, ['a#b']],
  ['Match Group = hpc\\ users', debian12, ['Group', 'hpc\\', 'users']],
  [`Match Group='hpc users'`, debian12, ['Group', "'hpc", "users'"]],
  [`Match Group='hpc users'`, newest, ['Group=hpc users']],
] as const)('%s of release %d', (text, release, args) => {
  expect(parseSshdConfigLines(text, release).map((line) => line.args)).toEqual([args]);
});

it.each([debian12, newest])('release %d: criteria of a Match', (release) => {
  const [line] = parseSshdConfigLines('Match Group="hpc users" localport=22 all', release);
  expect(parseMatchCriteria({ args: line?.args ?? [] })).toEqual([
    { name: 'group', argument: 'hpc users' },
    { name: 'localport', argument: '22' },
    { name: 'all', argument: '' },
  ]);
});
