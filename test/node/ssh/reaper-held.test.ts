import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../rig/wait-for.ts';
import { directoryOnHold } from '../../rig/login-node/directory-on-hold.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

describe('a runtime directory in which its user lets root wait beyond SIGKILL', () => {
  const user = 'held-ann';
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: { [user]: [] },
      sshYml: { rules: [{ profile: 'own' }] },
      profiles: {
        own: { ...standardProfile, podman: { devices: ['/dev/fuse'] }, timeouts: { idle: '4h' } },
      },
    });
    const mount = 'mountpoint -q $0 || mount -t fusectl fusectl $0';
    const mounted = await host.asRoot(['sh', '-c', mount, '/sys/fs/fuse/connections']);
    expect(mounted.exitCode).toBe(0);
  });
  afterAll(() => host.stop());

  it('of the processes of the reaper, one waits for a directory that its user keeps, until root aborts the FUSE connection', async () => {
    const session = await LiveSession.startReady(host, user, 'cat');
    const { uid, home } = host.account(user);
    const runtime = `/run/user/${uid}`;
    const program = directoryOnHold.replaceAll('/tmp/', `${home}/`);
    // Whoever looks up a name that is not there waits for the listing, and for who makes a directory meanwhile.
    const start = `cd ${home}; cat >hold.py; mv ${runtime}/berth .; setsid python3 hold.py ${runtime} >held 2>&1 </dev/null &
      until grep -q silent ${home}/held; do sleep 0.1; done; setsid mkdir ${runtime}/new >/dev/null 2>&1 </dev/null & sleep 0.2`;
    await host.asUser(user, ['timeout', '30', 'sh', '-c', start], { input: program });
    const berth = `${installDirectory}/berth`;
    const reap = async (): Promise<{ stderr: string; took: number }> => {
      const began = performance.now();
      const { stderr } = await host.asRoot(['timeout', '250', berth, 'reap'], { timeout: 260_000 });
      return { stderr, took: performance.now() - began };
    };
    const first = await reap();
    expect(first.stderr).toContain('reap-user-timeout');
    const next = await reap();
    expect(next.stderr).toMatch(
      /is not handled: process \d+ of an earlier cleanup survives SIGKILL/,
    );
    expect(next.took).toBeLessThan(15_000);

    const abort = `for it in /sys/fs/fuse/connections/*; do [ "$(stat -c %u $it)" != ${uid} ] || echo 1 >$it/abort; done`;
    await host.asRoot(['sh', '-c', abort]);
    await session.kill();
    await host.asRoot(['pkill', '-9', '-u', user]);
    await waitFor({ what: `${user} to be gone`, timeoutMs: 90_000 }, async () => {
      await host.asRoot([berth, 'reap']);
      expect(await findLeftovers(host, user)).toEqual(noLeftovers);
      return true;
    });
  }, 580_000);
});
