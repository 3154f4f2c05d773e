import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { buildForkChain } from '../../rig/login-node/fork-chain.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

describe('a program that keeps forking a successor', () => {
  let host: SshHost;
  afterEach(() => host.stop());

  const start = async (words: string): Promise<void> => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { bob: [] } },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session${words}`,
      profiles: { base: sharedProfile },
    });
    const program = 'cat >chain && chmod 755 chain';
    await host.asUser('bob', ['sh', '-c', program], { input: await buildForkChain() });
  };
  const connections = (): Promise<string[]> =>
    readdir(host.path(`/run/berth/connections/${host.account('bob').uid}`));
  const life = (): Promise<string> =>
    readFile(host.path(`${host.account('bob').home}/life`), 'latin1').catch(() => '');
  const expectLife = async (): Promise<void> => {
    await expect.poll(life).not.toBe('');
    const before = await life();
    await expect.poll(life).not.toBe(before);
  };
  const expectEnd = async (): Promise<void> => {
    const last = await life();
    await sleep(500);
    expect(await life()).toBe(last);
  };
  const expectNothing = (): Promise<unknown> =>
    waitFor({ what: 'bob to be gone', timeoutMs: 60_000 }, async () => {
      expect(await findLeftovers(host, 'bob')).toEqual(noLeftovers);
      return true;
    });

  it('ends with its connection, while processes of other connections only stop for a moment', async () => {
    await start('');
    const other = LiveSession.start(host, 'bob', ['-tt']);
    // A stopped job must stay stopped; `cat` is in the foreground and must not notice.
    other.client.stdin?.write('sh -c "kill -STOP \\$\\$; true" & echo re""ady; cat\n');
    await other.waitForOutput('ready');
    const session = await LiveSession.startReady(host, 'bob', '~/chain ~/life & cat');
    await expectLife();
    await session.kill();
    await expect.poll(connections).toHaveLength(1);
    await expectEnd();
    const { output } = other;
    other.client.stdin?.write('still here\n');
    await waitFor({ what: 'the answer', timeoutMs: 60_000 }, () =>
      Promise.resolve(other.output.endsWith('still here\r\nstill here\r\n') ? true : undefined),
    );
    expect(other.output).toBe(`${output}still here\r\nstill here\r\n`);
    const states = (await host.asRoot(['ps', '-u', 'bob', '-o', 'stat=,args='])).stdout.toString();
    expect(states).toMatch(/^T\S* +sh -c kill -STOP/m);
    expect(states).toMatch(/^S\S* +cat$/m);
    await other.kill();
    await expectNothing();
  });

  it('ends on the host too with --host-processes', async () => {
    await start(' --host-processes');
    const chain = '~/chain ~/life <&- >&- 2>&- &';
    await host.asUser('bob', ['sh', '-c', 'cat >.bashrc'], { input: chain });
    const session = await LiveSession.startReady(host, 'bob', 'cat');
    await expectLife();
    await session.kill();
    await expect.poll(connections).toHaveLength(0);
    await expectEnd();
    await expectNothing();
  });
});
