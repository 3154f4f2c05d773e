import { afterEach, describe, expect, it } from 'vitest';
import { endedFirstThread } from '../../rig/login-node/ended-first-thread.ts';
import { findLeftovers, noLeftovers, processesOf } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

let host: SshHost;
afterEach(() => host.stop());

describe.each(['', ' --host-processes'])('with pam-session%s', (words) => {
  it.each([
    ['whose first thread has ended', endedFirstThread('~/life'), 'python3'],
    [
      "that runs podman's own init",
      "setsid bash -c 'exec -a hidden /run/podman-init -P' </dev/null >/dev/null 2>&1 &",
      'hidden -P',
    ],
  ])('a process %s ends with its connection', async (_, command, name) => {
    host = await SshHost.start({
      mode: 'forced',
      users: { bob: [] },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session${words}`,
      profiles: { base: sharedProfile },
    });
    const other = await LiveSession.startReady(host, 'bob', 'cat');
    const session = await LiveSession.startReady(host, 'bob', `${command} cat`);
    const left = async (): Promise<readonly string[]> =>
      (await processesOf(host, 'bob')).filter((line) => line.includes(name));
    await expect.poll(left).not.toEqual([]);
    await session.kill();
    await expect.poll(left).toEqual([]);
    await other.kill();
    await expect.poll(() => findLeftovers(host, 'bob')).toEqual(noLeftovers);
  });
});
