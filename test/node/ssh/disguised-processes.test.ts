import { afterEach, describe, expect, it } from 'vitest';
import { endedFirstThread } from '../../rig/login-node/ended-first-thread.ts';
import { forkByTrace } from '../../rig/login-node/fork-by-trace.ts';
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

  it("one that a session has the container's own fork ends with that session", async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: { bob: [] },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session${words}`,
      profiles: { base: sharedProfile },
    });
    const inits = async (): Promise<number> =>
      (await processesOf(host, 'bob')).filter((line) => line.endsWith('/run/podman-init -P'))
        .length;
    const first = await LiveSession.startReady(host, 'bob', 'cat');
    const own = await inits();
    const other = await LiveSession.startReady(host, 'bob', 'cat');
    const session = await LiveSession.startReady(host, 'bob', 'exec sh');
    await first.kill();
    const records = `/run/berth/connections/${host.account('bob').uid}`;
    const open = async (): Promise<string> =>
      (await host.asRoot(['ls', records])).stdout.toString();
    await expect.poll(open, { timeout: 30_000 }).toMatch(/^\d+\.\d+\n\d+\.\d+\n$/);
    session.client.stdin?.write(`python3 - <<'END'\n${forkByTrace}\nEND\n`);
    await session.waitForOutput('forked ');
    expect(await inits()).toBe(own + 1);
    await session.kill();
    await expect.poll(inits, { timeout: 30_000 }).toBe(own);
    expect((await host.ssh('bob', ['echo still here'])).stdout.toString()).toBe('still here\n');
    expect(other.client.exitCode).toBeNull();
    await other.kill();
    await expect.poll(() => findLeftovers(host, 'bob')).toEqual(noLeftovers);
  });
});
