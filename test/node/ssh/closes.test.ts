import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../../src/verify/wait-for.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { repetitions } from '../../rig/soak.ts';

const users = ['close-ann', 'close-bob'];
const atOnce = repetitions(16, 400);
const mostMemory = 512 * 1024 * 1024;

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    ...{
      mode: 'forced',
      users: { 'close-ann': [], 'close-bob': [] },
      profiles: { base: sharedProfile },
    },
    sshd: 'MaxStartups 1000\n',
  });
});
afterAll(() => host.stop());

/** Root's hooks on the host: those that are Node, and the memory of all, in bytes. */
function hooks(): { readonly node: number; readonly memory: number } {
  let [node, memory] = [0, 0];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      if (!args.includes('/hooks/pam-session') || !isOnHost(pid)) continue;
      if (args.split('\0')[0]?.endsWith('/node') === true) node += 1;
      memory +=
        Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1]) *
        1024;
    } catch {
      // It has ended.
    }
  return { node, memory };
}

function isOnHost(pid: string): boolean {
  return readFileSync(`/proc/${pid}/mountinfo`, 'latin1').includes(host.directory);
}

it(`${atOnce} connections that close at once are closed a few at a time`, async () => {
  const sessions: LiveSession[] = [];
  for (let count = 0; count < atOnce; count += 1)
    sessions.push(await LiveSession.startReady(host, users[count % 2] ?? '', 'exec sleep 1000'));
  await Promise.all(sessions.map((session) => session.kill()));
  let [node, memory] = [0, 0];
  await waitFor({ what: 'all closes', timeoutMs: 120_000, everyMs: 20 }, async () => {
    const now = hooks();
    node = Math.max(node, now.node);
    memory = Math.max(memory, now.memory);
    const closed = (await host.log()).split('msg="session closed" user=close-').length - 1;
    return closed === atOnce || undefined;
  });
  expect(node).toBeGreaterThan(0);
  // Four, and those that end or begin while they are counted.
  expect(node).toBeLessThan(8);
  expect(memory).toBeLessThan(mostMemory);
  for (const user of users) expect(await findLeftovers(host, user)).toEqual(noLeftovers);
}, 1_800_000);
