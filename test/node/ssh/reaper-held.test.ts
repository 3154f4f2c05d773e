import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../rig/wait-for.ts';
import {
  abortFuse,
  holdDirectory,
  showFuseConnections,
} from '../../rig/login-node/fuse-connections.ts';
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
    await showFuseConnections(host);
  });
  afterAll(() => host.stop());

  it('of the processes of the reaper, one waits for a directory that its user keeps, until root aborts the FUSE connection', async () => {
    const session = await LiveSession.startReady(host, user, 'cat');
    const runtime = `/run/user/${host.account(user).uid}`;
    await holdDirectory(host, user, runtime, `mv ${runtime}/berth .`);
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
      /skipped the cleanup of UID \d+: process \d+ of an earlier cleanup still hangs after SIGKILL/,
    );
    expect(next.took).toBeLessThan(15_000);

    await abortFuse(host, user);
    await session.kill();
    await host.asRoot(['pkill', '-9', '-u', user]);
    await waitFor({ what: `${user} to be gone`, timeoutMs: 90_000 }, async () => {
      await host.asRoot([berth, 'reap']);
      expect(await findLeftovers(host, user)).toEqual(noLeftovers);
      return true;
    });
  }, 580_000);
});
