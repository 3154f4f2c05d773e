import { afterEach, expect, it } from 'vitest';
import { endedFirstThread } from '../../rig/login-node/ended-first-thread.ts';
import { findLeftovers, noLeftovers, processesOf } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

let host: SshHost;
afterEach(() => host.stop());

it.each(['', ' --host-processes'])(
  'a process whose first thread has ended ends with its connection: pam-session%s',
  async (words) => {
    host = await SshHost.start({
      mode: 'forced',
      users: { bob: [] },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session${words}`,
      profiles: { base: sharedProfile },
    });
    const other = await LiveSession.startReady(host, 'bob', 'cat');
    const session = await LiveSession.startReady(host, 'bob', `${endedFirstThread('~/life')} cat`);
    const isLeft = async (): Promise<boolean> =>
      (await processesOf(host, 'bob')).some((line) => line.includes('python3'));
    await expect.poll(isLeft).toBe(true);
    await session.kill();
    await expect.poll(isLeft, { timeout: 20_000 }).toBe(false);
    await other.kill();
    await expect.poll(() => findLeftovers(host, 'bob')).toEqual(noLeftovers);
  },
);
