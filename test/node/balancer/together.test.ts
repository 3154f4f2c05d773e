import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { clientAddress, NodesBehindBalancer } from '../../rig/balancer/nodes-behind-balancer.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { standardProfile, type SshHost } from '../../rig/login-node/ssh-host.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { repetitions } from '../../rig/soak.ts';

vi.setConfig({ testTimeout: 300_000 });

const users = Array.from({ length: 30 }, (_, index) => `many${index + 1}`);
const connections = repetitions(150, 300);
/** How many connections are opened at a time. */
const width = repetitions(4, 8);

describe('three login nodes behind two balancers, with `together: true`', () => {
  let site: NodesBehindBalancer;

  beforeAll(async () => {
    site = await NodesBehindBalancer.start(
      { ownNetwork: true, together: true, balancers: 2 },
      {
        ...{ mode: 'forced', users: Object.fromEntries(users.map((name) => [name, []])) },
        profiles: {
          base: { ...standardProfile, lifetime: 'user', grace: '1h', x11: false, agent: false },
        },
      },
    );
  });
  afterAll(() => site.stop());

  /** Each user has a client machine, and so an address. */
  const from = (user: string): string[] => ['-b', clientAddress(users.indexOf(user))];
  /** The node of a new connection through a balancer. */
  const nodeOf = async (user: string, balancer: number): Promise<string> => {
    const result = await site.fronts[balancer]?.ssh(user, [...from(user), 'hostname']);
    expect(result?.stderr).toBe('');
    return result?.stdout.toString().trim() ?? '';
  };
  const [lb1, lb2] = [0, 1];
  const balancer = (index: number) => {
    const front = site.fronts[index];
    if (front === undefined) throw new Error(`there is no balancer ${index}`);
    return front;
  };

  /**
   * Waits until a balancer has got the table, from its former worker or from the other balancer. This takes 0.2 s, but
   * five seconds if the former worker had not got it either.
   */
  const knows = async (index: number, user: string): Promise<void> => {
    const address = clientAddress(users.indexOf(user));
    await waitFor(
      { what: `lb${index + 1} to know ${user}`, timeoutMs: 60_000, everyMs: 50 },
      async () => ((await balancer(index).host.addresses()).includes(address) ? true : undefined),
    );
  };

  it('a user stays on a node: through both balancers, and after reloads', async () => {
    const some = users.slice(0, 3);
    const nodes: string[] = [];
    for (const user of some) nodes.push(await nodeOf(user, lb1));
    expect(new Set(nodes).size, `their nodes: ${nodes.join()}`).toBeGreaterThan(1);
    for (const index of [lb2, lb1]) {
      for (const [each, user] of some.entries())
        expect(await nodeOf(user, index), user).toBe(nodes[each]);
      await balancer(index).host.reload();
      for (const [each, user] of some.entries()) {
        await knows(index, user);
        expect(await nodeOf(user, index), user).toBe(nodes[each]);
      }
    }
  });

  it('a balancer that is away harms nobody on the other one, and learns what it has missed', async () => {
    const [old = '', fresh = '', later = ''] = users.slice(3);
    const before = await nodeOf(old, lb1);
    const there = await LiveSession.startReady(balancer(lb1), old, 'cat');
    await balancer(lb2).host.kill();
    expect(await nodeOf(old, lb1)).toBe(before);
    const meanwhile = [await nodeOf(fresh, lb1), await nodeOf(later, lb1)];
    await balancer(lb1).host.reload();
    await knows(lb1, later);
    expect([await nodeOf(fresh, lb1), await nodeOf(later, lb1)]).toEqual(meanwhile);
    await balancer(lb2).host.boot();
    await knows(lb2, later);
    expect([await nodeOf(fresh, lb2), await nodeOf(later, lb2)]).toEqual(meanwhile);
    there.client.stdin?.write('still here\n');
    await there.waitForOutput('still here');
    await there.kill();
  });

  it(`${connections} connections, while a balancer is reloaded each second and one node after another is drained: no session ends, and nobody gets another's`, async () => {
    const sessions: { user: string; secret: string; session: LiveSession }[] = [];
    const numbers = Array.from({ length: connections }, (_, number) => number);
    let isDone = false;
    let reloads = 0;
    const reload = async (): Promise<void> => {
      while (!isDone) {
        await Promise.all([balancer(lb1).host.reload(), sleep(1_000)]);
        reloads += 1;
      }
    };
    const open = async (): Promise<void> => {
      for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
        const user = users[number % users.length] ?? '';
        const secret = randomUUID();
        const script = 'echo "on $(hostname) now"; read -r line; echo "$(id -un) has $line"';
        const front = balancer(Math.floor(number / users.length) % 2);
        const session = LiveSession.start(front, user, [...from(user), script]);
        sessions.push({ user, secret, session });
        await session.waitForOutput(' now');
      }
    };
    const notices = async (index: number, node: SshHost, status: 'UP' | 'DOWN'): Promise<void> => {
      await waitFor(
        { what: `lb${index + 1} to see ${node.name} ${status}`, timeoutMs: 60_000 },
        async () =>
          (await balancer(index).host.statusOf(node.name)).startsWith(status) || undefined,
      );
    };
    const drained: string[] = [];
    const drain = async (): Promise<void> => {
      do
        for (const node of site.nodes) {
          await node.stopListening();
          // The other one starts again each second, and with all nodes.
          await notices(lb2, node, 'DOWN');
          await node.listen();
          drained.push(node.name);
          // Before the next node is drained.
          for (const index of [lb1, lb2]) await notices(index, node, 'UP');
        }
      while (numbers.length > 0);
    };
    const reloading = reload();
    try {
      await Promise.all([...Array.from({ length: width }, open), drain()]);
    } finally {
      isDone = true;
      await reloading;
    }
    expect(reloads).toBeGreaterThan(15);
    const ended = sessions.filter(({ session }) => session.client.exitCode !== null);
    expect(ended.map(({ user, session }) => `${user}: ${session.output}`)).toEqual([]);
    for (const { session, secret } of sessions) session.client.stdin?.write(`${secret}\n`);
    const codes = await Promise.all(sessions.map(({ session }) => session.exitCode()));
    expect(codes).toEqual(sessions.map(() => 0));
    const nodes = sessions.map(({ session }) => /on (\S+) now/.exec(session.output)?.[1] ?? '');
    const expected = sessions.map(
      ({ user, secret }, index) => `on ${nodes[index] ?? ''} now\n${user} has ${secret}\n`,
    );
    const outputs = await Promise.all(sessions.map(({ session }) => session.outputAtEnd()));
    expect(outputs).toEqual(expected);
    expect(new Set(nodes)).toEqual(new Set(drained));
  });
});
