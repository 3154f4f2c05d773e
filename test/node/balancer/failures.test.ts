import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSteadily, type Connection } from '../../rig/balancer/connection-stream.ts';
import { checkInterval, NodesBehindBalancer } from '../../rig/balancer/nodes-behind-balancer.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { standardProfile, type SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';

/**
 * A node that accepts and says nothing is found by two checks: the next one, which ends after `timeout check` (3 s), and after
 * `fastinter` (1 s) a second one, which takes haproxy 2.6 seven seconds; and some seconds for a busy machine.
 */
const foundAfter = checkInterval + 3_000 + 1_000 + 7_000 + 30_000;

describe('when a login node behind the balancer', () => {
  let site: NodesBehindBalancer;

  beforeAll(async () => {
    const profile = { ...standardProfile, x11: false, agent: false };
    site = await NodesBehindBalancer.start(
      { ownNetwork: true, together: false },
      {
        ...{ mode: 'forced', users: { ada: [], bob: [] } },
        // sshd gives up on a client that does not answer after two seconds.
        sshd: 'ClientAliveInterval 1\nClientAliveCountMax 2',
        sshYml: {
          rules: [
            { profile: 'own', users: ['ada'] },
            { profile: 'shared', users: ['bob'] },
          ],
        },
        profiles: {
          own: { ...profile, lifetime: 'connection' },
          shared: { ...profile, lifetime: 'user', grace: '0s' },
        },
      },
    );
  });
  afterAll(() => site.stop());

  /** Opens a session of ada on each node. Its client notices after three seconds that nobody answers. */
  const openOnEach = async (): Promise<OpenSessions> => {
    const sessions = new Map<SshHost, LiveSession>();
    const alive = ['-o', 'ServerAliveInterval=1', '-o', 'ServerAliveCountMax=3'];
    for (let tries = 0; tries < 9 && sessions.size < site.nodes.length; tries += 1) {
      const script = 'echo "on $(hostname) now"; cat';
      const session = LiveSession.start(site.front, 'ada', [...alive, script]);
      await session.waitForOutput(' now');
      const node = site.node(/on (\S+) now/.exec(session.output)?.[1] ?? '');
      if (sessions.has(node)) await session.kill();
      else sessions.set(node, session);
    }
    const [[node, own] = [], ...others] = sessions;
    if (node === undefined || own === undefined || others.length !== 2)
      throw new Error(`there are sessions on ${sessions.size} nodes only`);
    return { node, own, others: others.map(([, session]) => session) };
  };
  const expectEchoes = async (sessions: readonly LiveSession[]): Promise<void> => {
    for (const session of sessions) {
      session.client.stdin?.write('still here\n');
      await session.waitForOutput('still here');
    }
  };
  const isUp = async (node: SshHost): Promise<boolean> =>
    (await site.front.host.statusOf(node.name)).startsWith('UP');
  const connect = (options: Parameters<typeof openSteadily>[2]): Promise<readonly Connection[]> =>
    openSteadily(site, 'bob', options);

  /** Expects that the balancer uses the node again, and that nothing of the sessions is left on any node. */
  const expectRecovery = async ({ node, own, others }: OpenSessions): Promise<void> => {
    await waitFor(
      { what: `${node.name} to be up`, timeoutMs: checkInterval + 30_000 },
      async () => (await isUp(node)) || undefined,
    );
    const seen = await connect({ everyMs: 250, until: (ms) => ms > 1_500 });
    expect(failed(seen)).toEqual([]);
    expect(seen.map((each) => each.node)).toContain(node.name);
    for (const session of [own, ...others]) await session.kill();
    for (const each of site.nodes) await expectNothingOn(each);
  };
  const expectNothingOn = async (node: SshHost): Promise<void> => {
    await waitFor(
      { what: `${node.name} to be clean`, timeoutMs: 60_000, everyMs: 500 },
      async () => {
        await node.asRoot([`${installDirectory}/berth`, 'reap']);
        for (const user of ['ada', 'bob'])
          expect(await findLeftovers(node, user)).toEqual(noLeftovers);
        return true;
      },
    );
  };

  it('is drained, no new session fails, and those on it go on', async () => {
    const sessions = await openOnEach();
    const { node, own, others } = sessions;
    await node.stopListening();
    const seen = await connect({ everyMs: 400, until: (ms) => ms > 4_000 });
    expect(failed(seen)).toEqual([]);
    expect(seen.map((each) => each.node)).not.toContain(node.name);
    await expectEchoes([own, ...others]);
    await node.listen();
    await expectRecovery(sessions);
  });

  it('is killed, no new session fails, and those on it end at once', async () => {
    const sessions = await openOnEach();
    const { node, own, others } = sessions;
    await node.kill();
    const killed = performance.now();
    expect(await own.exitCode()).toBe(255);
    expect(performance.now() - killed).toBeLessThan(3_000);
    const seen = await connect({ everyMs: 400, until: (ms) => ms > 4_000 });
    expect(failed(seen)).toEqual([]);
    await expectEchoes(others);
    await node.boot();
    // Podman lists a container before it runs, so the reaper waits for a minute.
    const lists = '/var/lib/berth-ssh/users/*/storage/overlay-containers/containers.json';
    const older = `sed -i 's/"created":"20../"created":"2001/' ${lists}`;
    expect((await node.asRoot(['sh', '-c', older])).exitCode).toBe(0);
    await expectRecovery(sessions);
  });

  it('loses its network, new sessions wait for another node, and both ends of those on it give up', async () => {
    const sessions = await openOnEach();
    const { node, own, others } = sessions;
    await site.unplug(node);
    const seen = await connect({ everyMs: 500, until: (ms) => ms > 2 * checkInterval });
    expect(failed(seen)).toEqual([]);
    expect(seen.map((each) => each.node)).not.toContain(node.name);
    expect(await own.exitCode()).toBe(255);
    await expectNothingOn(node);
    await expectEchoes(others);
    await site.plugIn(node);
    await expectRecovery(sessions);
  });

  it('hangs, a third of the new sessions fails at most until it is found, and those on it go on', async () => {
    const sessions = await openOnEach();
    const { node, own, others } = sessions;
    await node.hang();
    const start = performance.now();
    let down = Number.POSITIVE_INFINITY;
    const found = waitFor(
      { what: `${node.name} to be found`, timeoutMs: foundAfter },
      async () => !(await isUp(node)) || undefined,
    ).finally(() => (down = performance.now() - start));
    const seen = await connect({
      ...{ everyMs: 500, ssh: ['-o', 'ConnectTimeout=5'] },
      until: (ms) => ms > down + 2_000,
    });
    await found;
    // A connection that has been accepted cannot be tried elsewhere.
    const without = failed(seen);
    expect(without.length).toBeLessThanOrEqual(Math.ceil(seen.length / 3));
    expect(Math.max(0, ...without.map(({ startedMs }) => startedMs))).toBeLessThan(down);
    expect(seen.slice(-3).map((each) => each.exitCode)).toEqual([0, 0, 0]);
    await expectEchoes([own, ...others]);
    await node.continueAfterHang();
    await expectRecovery(sessions);
  });
});

interface OpenSessions {
  /** The node that something will happen to. */
  readonly node: SshHost;
  /** The session on it. */
  readonly own: LiveSession;
  readonly others: readonly LiveSession[];
}

function failed(connections: readonly Connection[]): readonly Connection[] {
  return connections.filter(({ exitCode }) => exitCode !== 0);
}
