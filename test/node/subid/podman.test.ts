import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { berth, EtcDirectory } from './etc-directory.ts';

const isRoot = process.getuid?.() === 0;
const alice = { name: 'alice', uid: 1000 };
let etc: EtcDirectory;

beforeAll(() => ensurePackages(['uidmap', 'podman', 'util-linux']));
beforeEach(async () => {
  etc = await EtcDirectory.make([alice]);
});
afterEach(() => etc.remove());

describe.runIf(isRoot)('subordinate IDs that were applied (as root)', () => {
  it('is what the real newuidmap and podman map', async () => {
    await etc.write('subuid', '# by hand\n');
    await etc.write('subgid', '');
    await etc.subid('apply');
    const { exitCode, stdout, stderr } = await etc.as(
      alice,
      'podman unshare cat /proc/self/uid_map /proc/self/gid_map',
    );
    expect({ exitCode, stderr: important(stderr) }).toEqual({ exitCode: 0, stderr: '' });
    const map = ['0 1000 1', '1 655360000 65536'];
    expect(mapLines(stdout)).toEqual([...map, ...map]);
    // Without it there is nothing to be mapped: this is what the test tells apart.
    await etc.write('subuid', '');
    const without = await etc.as(alice, 'podman unshare cat /proc/self/uid_map');
    expect(mapLines(without.stdout)).not.toContain('1 655360000 65536');
  });

  it.each([
    ['short', 10_000],
    ['long', 2_000_000_000],
  ])(
    'has as many groups with %s GIDs as newgidmap takes, and not one fewer',
    async (_what, first) => {
      const member = {
        name: 'erin',
        uid: 61_000,
        groups: Array.from({ length: 339 }, (_, nth) => first + nth),
      };
      await etc.people([member]);
      const applied = await etc.subid('apply', '--groups', '--first-uid', '61000');
      expect(applied.stderr).toContain('[subid-groups-do-not-fit]');
      const lines = (await etc.read('subgid')).trim().split('\n').length;
      const map = 'podman unshare cat /proc/self/gid_map';
      const { stdout, stderr } = await etc.as(member, map);
      expect(important(stderr)).toBe('');
      expect(mapLines(stdout)).toHaveLength(1 + lines);

      await etc.write('subgid', `${await etc.read('subgid')}erin:${first + lines - 1}:1\n`);
      const tooMany = await etc.as(member, map);
      expect(mapLines(tooMany.stdout)).not.toHaveLength(2 + lines);
    },
  );

  it('serves the last of 50 000 users, planned in two seconds of a processor', async () => {
    const people = Array.from({ length: 50_000 }, (_, nth) => ({
      name: `u${nth}`,
      uid: 1000 + nth,
    }));
    await etc.people(people);
    const { stderr } = await execa(
      'bash',
      [
        ...['-c', 'TIMEFORMAT="%U %S"; time "$@" >/dev/null', 'bash', berth],
        ...['subid', 'plan', '--prefix', etc.root],
      ],
      { reject: false },
    );
    const [user = 0, system = 0] = stderr.trim().split(' ').map(Number);
    expect(user + system).toBeLessThan(2);
    expect(user).toBeGreaterThan(0);
    await etc.subid('apply');
    const last = people.at(-1) ?? alice;
    const { stdout } = await etc.as(last, 'podman unshare cat /proc/self/uid_map');
    expect(mapLines(stdout)).toEqual(['0 50999 1', `1 ${655_360_000 + 49_999 * 65_536} 65536`]);
  });
});

function mapLines(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().replaceAll(/\s+/g, ' '));
}

/** Without podman's remark that this machine's / is no shared mount. */
function important(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => !line.includes('is not a shared mount'))
    .join('\n');
}
