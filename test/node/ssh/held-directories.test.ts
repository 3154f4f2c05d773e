import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { directoryOnHold } from '../../rig/login-node/directory-on-hold.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';

/** As many as there are slots in close-queue.sh. */
const hostile = ['mal-a', 'mal-b', 'mal-c', 'mal-d'];
const connections = '/sys/fs/fuse/connections';

/** Users who run programs on the host, with which the kernel lets nobody look a name up in a directory of theirs. */
describe('directories on hold', () => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: Object.fromEntries([...hostile, 'ada'].map((user) => [user, []])),
      profiles: { base: { ...sharedProfile, timeouts: { idle: '4h' } } },
    });
    await host.asRoot(['sh', '-c', `mountpoint -q $0 || mount -t fusectl fusectl $0`, connections]);
  }, 300_000);
  afterAll(() => host.stop());

  /** @param first what the user does before, in the home */
  const hold = async (user: string, directory: string, first = ':'): Promise<void> => {
    const { home } = host.account(user);
    const start = `cd ${home}; cat >hold.py; ${first}; rm -f held
      setsid python3 hold.py ${directory} >held 2>&1 </dev/null &
      until grep -q silent held; do sleep 0.1; done
      setsid mkdir ${directory}/new >/dev/null 2>&1 </dev/null & sleep 0.2`;
    const { exitCode, stderr } = await host.asUser(user, ['timeout', '30', 'sh', '-c', start], {
      input: directoryOnHold.replaceAll('/tmp/', `${home}/`),
    });
    expect(exitCode, stderr).toBe(0);
  };
  /** As root can. */
  const release = async (user: string): Promise<void> => {
    const { uid } = host.account(user);
    const abort = `for one in ${connections}/*; do [ "$(stat -c %u $one)" != ${uid} ] || echo 1 >$one/abort; done`;
    await host.asRoot(['sh', '-c', abort]);
    await host.asRoot(['pkill', '-KILL', '-u', user]);
  };
  afterEach(async () => {
    for (const user of hostile) await release(user);
  });

  it('of four users keep a close of another for no longer than a minute and a half', async () => {
    const sessions: LiveSession[] = [];
    for (const user of hostile) {
      sessions.push(await LiveSession.startReady(host, user, 'cat'));
      const runtime = `/run/user/${host.account(user).uid}`;
      await hold(user, runtime, `mv ${runtime}/berth .`);
    }
    const other = await LiveSession.startReady(host, 'ada', 'cat');
    for (const session of sessions) await session.kill();
    const slots = async (): Promise<number> => {
      const free = `for n in 0 1 2 3; do flock -n /run/berth/close-$n.lock true || echo taken; done`;
      const { stdout } = await host.asRoot(['sh', '-c', free]);
      return stdout.toString().split('\n').filter(Boolean).length;
    };
    await expect.poll(slots).toBe(hostile.length);
    await expect.poll(slots, { timeout: 90_000 }).toBe(0);
    await other.kill();
    await expect.poll(() => findLeftovers(host, 'ada'), { timeout: 90_000 }).toEqual(noLeftovers);
  }, 300_000);

  it('of notes in the home leave one process of the cleanup behind, however often', async () => {
    const [user = ''] = hostile;
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
      await hold(user, notes);
      await session.kill();
      await expect.poll(closed, { timeout: 90_000 }).toBe(before + 1);
      expect(await removing(), `round ${round}`).toBe(1);
      await host.asUser(user, ['mv', notes, `${notes}.away-${round}`]);
    }
  }, 300_000);
});
