import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  abortFuse,
  holdDirectory,
  showFuseConnections,
} from '../../rig/login-node/fuse-connections.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { berthOn, listed } from '../sessions/berth-on.ts';

/** As many as there are slots in close-queue.sh. */
const hostile = ['mal-a', 'mal-b', 'mal-c', 'mal-d'];
/** Each for one test: what ends their FUSE file systems ends those of their containers, too. */
const listedUser = 'mal-e';
const noting = 'mal-f';

/** Users who run programs on the host, with which the kernel lets nobody look a name up in a directory of theirs. */
describe('directories on hold', () => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: Object.fromEntries(
        [...hostile, listedUser, noting, 'ada', 'bob'].map((user) => [user, []]),
      ),
      profiles: { base: { ...sharedProfile, timeouts: { idle: '4h' } } },
    });
    await showFuseConnections(host);
  }, 300_000);
  afterAll(() => host.stop());

  afterEach(async () => {
    for (const user of [...hostile, listedUser, noting]) {
      await abortFuse(host, user);
      await host.asRoot(['pkill', '-KILL', '-u', user]);
    }
  });

  it('of four users keep a close of another for no longer than a minute and a half', async () => {
    const sessions: LiveSession[] = [];
    for (const user of hostile) {
      sessions.push(await LiveSession.startReady(host, user, 'cat'));
      const runtime = `/run/user/${host.account(user).uid}`;
      await holdDirectory(host, user, runtime, `mv ${runtime}/berth away-$$`);
    }
    const other = await LiveSession.startReady(host, 'ada', 'cat');
    for (const session of sessions) await session.kill();
    // Each is held by a descriptor of close-queue.sh; whoever tried the locks would take them from closes.
    const slots = async (): Promise<number> => {
      const script =
        'readlink /proc/[0-9]*/fd/8 | grep "/run/berth/close-[0-9]*[.]lock" | sort -u | wc -l';
      return Number((await host.asRoot(['sh', '-c', script])).stdout.toString());
    };
    await expect.poll(slots).toBe(hostile.length);
    await expect.poll(slots, { timeout: 90_000 }).toBe(0);
    await other.kill();
    await expect.poll(() => findLeftovers(host, 'ada'), { timeout: 90_000 }).toEqual(noLeftovers);
  }, 300_000);

  it('keep nobody from listing and ending sessions, and leave one process behind, however often', async () => {
    const [user, untouched] = [listedUser, 'bob'];
    const held = await LiveSession.startReady(host, user, 'cat');
    const other = await LiveSession.startReady(host, untouched, 'cat');
    const runtime = `/run/user/${host.account(user).uid}`;
    await holdDirectory(host, user, runtime, `mv ${runtime}/berth away-$$`);
    for (let round = 0; round < 3; round += 1) {
      const seen = (await listed(host)).map(({ user: of, profile }) => `${of} ${profile}`);
      expect(seen.sort()).toEqual([`${untouched} base`, `${user} base`]);
      await berthOn(host, ['status']);
      const { stdout } = await host.asRoot(['pgrep', '--exact', '--count', 'dd']);
      expect(stdout.toString()).toBe('1\n');
    }
    const end = ['sessions', 'end', untouched, '--message', 'maintenance', '--grace', '1s'];
    const { code, err } = await berthOn(host, end);
    expect(code, err).toBe(0);
    await abortFuse(host, user);
    await held.kill();
    await other.kill();
  }, 300_000);

  it('of notes in the home leave one process of the cleanup behind, however often', async () => {
    const user = noting;
    const removing = async (): Promise<number> => {
      const { stdout } = await host.asRoot(['ps', '-eo', 'stat=,args=']);
      return stdout
        .toString()
        .split('\n')
        .filter((line) => /^\S+\s+\/bin\/rm -f -- .*\.json/.test(line)).length;
    };
    const { home } = host.account(user);
    const notes = `${home}/.local/state/berth/containers`;
    const closed = async (): Promise<number> =>
      (await host.log()).match(new RegExp(`session closed" user=${user}`, 'g'))?.length ?? 0;
    for (const round of [1, 2, 3]) {
      const session = await LiveSession.startReady(host, user, 'cat');
      const before = await closed();
      await holdDirectory(host, user, notes);
      await session.kill();
      await expect.poll(closed, { timeout: 90_000 }).toBe(before + 1);
      expect(await removing(), `round ${round}`).toBe(1);
      await host.asUser(user, ['mv', notes, `${notes}.away-${round}`]);
    }
  }, 300_000);
});
