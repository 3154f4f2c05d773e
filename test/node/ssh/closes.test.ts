import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { mapConcurrent } from '../../../src/system/map-concurrent.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { listed } from '../sessions/berth-on.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { say } from '../../rig/site/progress.ts';
import { repetitions, soak } from '../../rig/soak.ts';

const users = Array.from({ length: repetitions(4, 40) }, (_, index) => `close-${index + 1}`);
const each = repetitions(4, 10);
const atOnce = users.length * each;
const other = 'close-other';
const mostMemory = 512 * 1024 * 1024;
const berth = `${installDirectory}/berth`;

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    mode: 'forced',
    users: Object.fromEntries([...users, other].map((user) => [user, []])),
    profiles: { base: sharedProfile },
    sshd: 'MaxStartups 1000\n',
    // A close whose memory is limited, if the cgroup exists.
    pam: 'session optional pam_exec.so quiet /bin/sh /etc/hook',
    etc: {
      hook: `[ "$PAM_TYPE" != close_session ] || [ ! -d /run/small ] || echo $$ >/run/small/cgroup.procs
exec ${installDirectory}/hooks/pam-session\n`,
    },
  });
}, 300_000);
afterEach(() => host.asRoot(['sh', '-c', 'rm -f /run/held-*']));
afterAll(() => host.stop());

interface Closes {
  /** Those of `users` that run or wait. */
  readonly waiting: number;
  readonly node: number;
  /** Of all with what they started, bytes. */
  readonly memory: number;
}

/** Root's closes on the host. */
function closes(): Closes {
  const [found, waiting] = [new Set<string>(), new Set<string>()];
  const parents = new Map<string, string>();
  let [node, memory] = [0, 0];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      const [, parent = ''] =
        /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
      parents.set(pid, parent);
      if (!args.includes('/hooks/pam-session') || !isOnHost(pid)) continue;
      found.add(pid);
      if (isOfUsers(pid)) waiting.add(pid);
      if (args.split('\0')[0]?.endsWith('/node') === true) node += 1;
    } catch {
      // It has ended.
    }
  for (const pid of parents.keys()) {
    let at: string | undefined = pid;
    while (at !== undefined && !found.has(at)) at = parents.get(at);
    if (at !== undefined) memory += memoryOf(pid);
  }
  return { waiting: waiting.size, node, memory };
}

function isOnHost(pid: string): boolean {
  return readFileSync(`/proc/${pid}/mountinfo`, 'latin1').includes(host.directory);
}

function isOfUsers(pid: string): boolean {
  return /\0PAM_USER=close-\d/.test(`\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`);
}

function memoryOf(pid: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1]) * 1024;
  } catch {
    return 0;
  }
}

/** How many connections their own close has cleaned up. @param name of the user, a regular expression */
async function closed(name: string): Promise<number> {
  const line = new RegExp(`msg="session closed" user=${name}`, 'g');
  return (await host.log()).match(line)?.length ?? 0;
}

/** How long another user's `ssh true` into a running container takes. Milliseconds. */
async function loginMs(): Promise<number> {
  const begun = performance.now();
  expect(await host.ssh(other, ['true'])).toMatchObject({ exitCode: 0 });
  return performance.now() - begun;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

it(`${atOnce} connections that close at once are closed a few at a time, and logins go first`, async () => {
  const staying = await LiveSession.startReady(host, other, 'exec sleep 3000');
  const connections = Array.from({ length: atOnce }, (_, index) => users[index % users.length]);
  const sessions = await mapConcurrent(connections, 4, (user = '') =>
    LiveSession.startReady(host, user, 'exec sleep 3000'),
  );
  await sleep(repetitions(0, 20_000));
  const before: number[] = [];
  for (let count = 0; count < 5; count += 1) before.push(await loginMs());

  await Promise.all(sessions.map((session) => session.kill()));
  const begun = performance.now();
  const meanwhile: number[] = [];
  const over = new AbortController();
  const logins = (async () => {
    while (!over.signal.aborted) meanwhile.push(await loginMs());
  })();
  let [node, memory] = [0, 0];
  await waitFor({ what: 'all closes', timeoutMs: 300_000, everyMs: soak ? 500 : 20 }, async () => {
    const now = closes();
    node = Math.max(node, now.node);
    memory = Math.max(memory, now.memory);
    // Those that waited too long are the reaper's.
    return (now.waiting === 0 && (await closed('close-\\d')) > 0) || undefined;
  });
  over.abort();
  await logins;
  const took = Math.round((performance.now() - begun) / 1000);
  const [alone, beside] = [median(before), median(meanwhile.slice(0, -1))];
  const byReaper = atOnce - (await closed('close-\\d'));
  say(
    `${atOnce} closes of ${users.length} users: ${took} s, ${byReaper} left to the reaper, ${Math.round(memory / 2 ** 20)} MiB, ${node} at once; ssh true ${Math.round(alone)} ms, meanwhile ${Math.round(beside)} ms (${meanwhile.length} logins, at most ${Math.round(Math.max(...meanwhile))} ms)`,
  );
  await staying.kill();

  expect(node).toBeGreaterThan(0);
  // Four, that of the other user, and those that end or begin while they are counted.
  expect(node).toBeLessThan(9);
  expect(memory).toBeLessThan(mostMemory);
  if (soak) expect(beside).toBeLessThan(2 * alone);
  // The next run finds those whose sshd has only now ended.
  const left = async (): Promise<unknown> => {
    await host.asRoot([berth, 'reap'], { timeout: 300_000 });
    return Promise.all([...users, other].map((user) => findLeftovers(host, user)));
  };
  const nothing = [...users, other].map(() => noLeftovers);
  await expect.poll(left, { timeout: 120_000 }).toEqual(nothing);
}, 1_800_000);

it.each([0, 1, 2, 3])(
  'a close runs at once if only slot %i is free',
  async (free) => {
    const session = await LiveSession.startReady(host, other, 'cat');
    const before = await closed(other);
    const release = await holdSlots([0, 1, 2, 3].filter((slot) => slot !== free));
    await session.kill();
    await expect.poll(() => closed(other), { timeout: 25_000 }).toBe(before + 1);
    await release();
  },
  120_000,
);

it('closes take the slot that becomes free first, while the others stay taken', async () => {
  const closing = [...users.slice(0, 2), other];
  const sessions = await mapConcurrent(closing, 2, (user) =>
    LiveSession.startReady(host, user, 'cat'),
  );
  const before = await closed('close-\\w+');
  const releaseOne = await holdSlots([2]);
  const releaseOthers = await holdSlots([0, 1, 3]);
  for (const session of sessions) await session.kill();
  await expect.poll(() => closes().waiting).toBe(2);
  await releaseOne();
  await expect.poll(() => closed('close-\\w+')).toBe(before + 3);
  await releaseOthers();
}, 120_000);

it('a connection whose close waits is not listed as a session', async () => {
  const [user = ''] = users;
  const session = await LiveSession.startReady(host, user, 'cat');
  const before = await closed(user);
  const release = await holdSlots([0, 1, 2, 3]);
  expect(await listed(host)).toMatchObject([{ user, profile: 'base' }]);
  await session.kill();
  await expect.poll(() => closes().waiting).toBe(1);
  expect(await listed(host)).toEqual([]);
  await release();
  await expect.poll(() => closed(user)).toBe(before + 1);
}, 120_000);

it('closes of one account wait for each other, by whatever name it has logged in', async () => {
  const alias = other.toUpperCase();
  const add = `for file in passwd shadow; do sed -i "s/^${other}\\(:.*\\)/&\\n${alias}\\1/" /etc/$file; done
    ln -s ${other} /etc/ssh/authorized_keys/${alias}`;
  expect(await host.asRoot(['sh', '-euc', add])).toMatchObject({ exitCode: 0 });
  const { address, port, network } = host;
  const server = { address, port, network, clientOptions: () => host.clientOptions(other) };
  // A name that is not the account's own gets no session of Berth, and its close says so.
  const done = async (name: string): Promise<number> => {
    const line = new RegExp(`"session closed" user=${name} |user=${name} .*step=close`, 'g');
    return (await host.log()).match(line)?.length ?? 0;
  };
  const closeOf = async (name: string): Promise<string> => {
    const session = await LiveSession.startReady(server, name, 'cat');
    const before = await done(name);
    await session.kill();
    await expect.poll(() => done(name)).toBe(before + 1);
    const { stdout } = await host.asRoot(['sh', '-c', 'echo /run/berth/close-of-*']);
    return stdout.toString();
  };
  expect(await closeOf(alias)).toBe(await closeOf(other));
}, 120_000);

/** Holds slots of close-queue.sh. @returns what releases them */
async function holdSlots(slots: readonly number[]): Promise<() => Promise<void>> {
  const file = `/run/held-${slots.join('-')}`;
  const hold = `touch ${file}; while [ -e ${file} ]; do sleep 0.1; done`;
  const holding = host.asRoot(
    [
      ...slots.flatMap((slot) => ['flock', '-w', '30', `/run/berth/close-${slot}.lock`]),
      ...['sh', '-c', hold],
    ],
    { timeout: 120_000 },
  );
  const held = async () => (await host.asRoot(['test', '-e', file])).exitCode === 0;
  await expect.poll(held, { timeout: 40_000 }).toBe(true);
  return async () => {
    await host.asRoot(['rm', file]);
    expect(await holding).toMatchObject({ exitCode: 0 });
  };
}

it('a close that the kernel kills for its memory is finished by the reaper', async () => {
  // The machine's: version 1 has one hierarchy for all hosts.
  const cgroup = `/run/memory/berth-test-${host.port}`;
  const small = `mkdir /run/memory
    if grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
      mount -t cgroup2 cgroup2 /run/memory; echo +memory >/run/memory/cgroup.subtree_control
      mkdir ${cgroup}; echo 8M >${cgroup}/memory.max
    else
      mount -t cgroup -o memory memory /run/memory
      mkdir ${cgroup}; echo 8M >${cgroup}/memory.limit_in_bytes
    fi
    ln -s ${cgroup} /run/small`;
  const made = await host.asRoot(['sh', '-euc', small]);
  expect(made.stderr).toBe('');
  const session = await LiveSession.startReady(host, other, 'cat');
  const before = await closed(other);
  await session.kill();
  // Version 1 counts what did not fit.
  const killed = `cd /run/small
    until grep -s "^oom_kill [1-9]" memory.events || grep -s "^[1-9]" memory.failcnt; do sleep 0.1; done`;
  expect((await host.asRoot(['timeout', '20', 'sh', '-c', killed])).exitCode).toBe(0);
  const remove = `until rmdir ${cgroup}; do sleep 0.1; done; umount /run/memory`;
  expect((await host.asRoot(['timeout', '20', 'sh', '-c', remove])).exitCode).toBe(0);
  expect(await closed(other)).toBe(before);
  expect((await findLeftovers(host, other)).containers).toEqual(['berth-base']);

  expect((await host.asRoot([berth, 'reap'])).exitCode).toBe(0);
  await expect.poll(() => findLeftovers(host, other)).toEqual(noLeftovers);
}, 120_000);
