import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  abortFuse,
  holdDirectory,
  showFuseConnections,
} from '../../rig/login-node/fuse-connections.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { overlayOnFuse } from '../../rig/login-node/overlay-on-fuse.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { berthOn } from '../sessions/berth-on.ts';

/** Users who run programs on the host, and mount FUSE file systems there. */
describe('berth sessions end', () => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: { 'mal-a': [], 'mal-b': [], ada: [] },
      profiles: { base: sharedProfile },
    });
    await showFuseConnections(host);
  }, 300_000);
  afterAll(() => host.stop());
  afterEach(async () => {
    for (const user of ['mal-a', 'mal-b']) {
      await abortFuse(host, user);
      await host.asRoot(['pkill', '-KILL', '-u', user]);
    }
  });

  it('tells and ends all, also where standard error is a file that never answers', async () => {
    const { home } = host.account('mal-b');
    const program = overlayOnFuse.replaceAll('/tmp/', `${home}/`);
    const start = `rm -f ~/out; setsid python3 ~/overlay.py >~/out 2>&1 </dev/null &
until grep -qs silent ~/out; do sleep 0.1; done
exec 2</proc/$(sed -n 's/silent //p' ~/out)/root${home}/overlay/sleep
echo ready; exec sleep 1000`;
    const write = `cat >~/overlay.py; cat >~/.bashrc <<'X'\n${start}\nX`;
    await host.asUser('mal-b', ['sh', '-c', `HOME=${home}; ${write}`], { input: program });
    const other = LiveSession.start(host, 'ada', ['echo ready; exec sleep 1000']);
    await other.waitForOutput('ready');
    const session = LiveSession.start(host, 'mal-b', ['true']);
    await session.waitForOutput('ready');
    const { out, err } = await berthOn(host, [
      'sessions',
      'end',
      '--all',
      '--message',
      'maintenance',
    ]);
    expect(out, err).toMatch(/^ended \S+ of ada$/m);
    expect(out).toMatch(/^ended \S+ of mal-b$/m);
    await Promise.all([other.kill(), session.kill()]);
  }, 300_000);

  it('ends in time, and leaves to the reaper what its user keeps', async () => {
    const session = await LiveSession.startReady(host, 'mal-a', 'cat');
    const runtime = `/run/user/${host.account('mal-a').uid}`;
    await holdDirectory(host, 'mal-a', runtime, `mv ${runtime}/berth away`);
    const { code, out, err } = await berthOn(host, ['sessions', 'end', 'mal-a'], {
      timeout: 250_000,
    });
    expect(out, err).toMatch(/^ended \S+ of mal-a$/m);
    // Nothing, if PAM's hook gave up before and the directory is there again.
    if (code !== 0)
      expect([code, err]).toEqual([75, expect.stringContaining('[reap-user-timeout]')]);
    await session.kill();
  }, 300_000);
});
