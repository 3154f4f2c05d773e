import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endHolder, ip, namespaceOf, startHolder } from '../../rig/login-node/network-namespace.ts';
import { ForwardingHost } from '../../rig/logs/forwarding-host.ts';
import { LogAggregator } from '../../rig/logs/log-aggregator.ts';
import { repetitions } from '../../rig/soak.ts';

const name = 'login1.example.org';

let holder: ChildProcess;
let network: string;
let aggregator: LogAggregator;
let host: ForwardingHost;

beforeAll(async () => {
  holder = await startHolder();
  network = namespaceOf(holder);
  await ip(network, 'link', 'set', 'lo', 'up');
});
afterAll(() => endHolder(holder));
beforeEach(async () => {
  aggregator = await LogAggregator.start(network);
});
afterEach(async () => {
  await host.stop();
  await aggregator.stop();
});

/** Of 500 lines in the queue: up to four were seen. */
const few = 10;

/** Without these, the tests would wait for ten seconds, and for a minute. */
const soon = { 'resumeInterval="10"': 'resumeInterval="1"', 'interval="60"': 'interval="1"' };
const small = {
  'maxDiskSpace="500m"': 'maxDiskSpace="256k"',
  'maxFileSize="1m"': 'maxFileSize="32k"',
};

const startHost = (changes: Readonly<Record<string, string>> = {}): Promise<ForwardingHost> =>
  ForwardingHost.start({
    ...{ network, ca: aggregator.ca, certificate: name, users: { ada: [] }, images: false },
    changes: { ...soon, ...changes },
  });

/** The numbers of the lines of `host.log` in a log, in its order. */
function numbersIn(lines: readonly string[]): number[] {
  return lines.flatMap((line) => {
    const [, found] = / berth: n=(\d+) /.exec(line) ?? [];
    return found === undefined ? [] : [Number(found)];
  });
}
const arrived = async (): Promise<number[]> => numbersIn(await aggregator.lines(name));
const numbers = (to: number): number[] => Array.from({ length: to }, (_, at) => at);

/** A line is written to the local log after it is in the queue. */
async function untilQueued(count: number): Promise<void> {
  const local = async (): Promise<number> => numbersIn((await host.local()).split('\n')).length;
  await expect.poll(local, { timeout: 60_000 }).toBe(count);
}

const patient = { timeout: 60_000, interval: 50 };

describe('while the aggregator is away', () => {
  it('lines wait on the host, and arrive in order when it is back', async () => {
    host = await startHost();
    await aggregator.stopRsyslog();
    await host.log(0, 700);
    await untilQueued(700);
    expect(await arrived()).toEqual([]);
    await aggregator.startRsyslog();
    await expect.poll(arrived, patient).toEqual(numbers(700));
  });

  it('no line is lost if it is killed again and again as they arrive', async () => {
    host = await startHost();
    for (let at = 0; at < 5; at++) {
      const logged = host.log(at * 400, (at + 1) * 400);
      await sleep(at * 30);
      await aggregator.killRsyslog();
      await logged;
      await aggregator.startRsyslog();
    }
    // A line whose confirmation was lost is sent again, with those after it.
    await expect.poll(async () => new Set(await arrived()).size, patient).toBe(2000);
    expect([...new Set(await arrived())]).toEqual(numbers(2000));
  });

  it.each(['KILL', 'TERM'] as const)(
    'lines in the queue survive SIG%s of the host’s rsyslog, but for a few that were being sent',
    async (signal) => {
      host = await startHost();
      const rounds = repetitions(2, 20);
      for (let at = 0; at < rounds; at++) {
        await endWithLines(signal, at * 600);
        await expect
          .poll(async () => (await arrived()).includes(at * 600 + 599), patient)
          .toBe(true);
      }
      const there = await arrived();
      const lost = numbers(rounds * 600).filter((number) => !there.includes(number));
      expect(lost.length, String(lost)).toBeLessThanOrEqual(few * rounds);
      // SIGTERM puts them behind the others.
      const late = there.filter((number, at) => number < Math.max(...there.slice(0, at)));
      expect(late.length, String(late)).toBeLessThanOrEqual(signal === 'KILL' ? 0 : few * rounds);
    },
  );

  async function endWithLines(signal: 'KILL' | 'TERM', from = 0): Promise<void> {
    await aggregator.stopRsyslog();
    await host.log(from, from + 500);
    await untilQueued(from + 500);
    await host.endRsyslog(signal);
    await host.startRsyslog();
    await host.log(from + 500, from + 600);
    await aggregator.startRsyslog();
  }
});

describe('while the queue is full', () => {
  it('nobody waits, what is in it arrives in order, and how many lines were lost is in both logs', async () => {
    host = await startHost(small);
    const before = await host.log(0, 1);
    await aggregator.stopRsyslog();
    await host.log(1, 3000, 'x'.repeat(300));
    await untilQueued(3000);
    expect(await host.queued()).toBeLessThan(600_000);
    await expect.poll(() => host.local(), patient).toMatch(/discarded\.full=[1-9]/);

    // rsyslog's own timeout would be two seconds for each line.
    const times: number[] = [];
    for (let at = 3000; at < 3020; at++) times.push(await host.log(at, at + 1));
    const since = performance.now();
    const { exitCode, stderr } = await host.host.ssh('ada', ['true']);
    const login = performance.now() - since;
    expect([exitCode, stderr]).toEqual([0, '']);
    const usual = times.toSorted((one, other) => one - other)[10] ?? Infinity;
    const figures = { before, usual, login };
    expect(figures.usual, JSON.stringify(figures)).toBeLessThan(1000);
    // Of sshd and Berth, that is more than five lines.
    expect(figures.login, JSON.stringify(figures)).toBeLessThan(10_000);

    await aggregator.startRsyslog();
    // Each line for the aggregator is there, or counted.
    await expect
      .poll(async () => {
        const [local, lines] = [(await host.local()).split('\n'), await aggregator.lines(name)];
        const meant = local.filter((line) => / (?:berth|sshd\[\d+\]|rsyslogd-pstats): /.test(line));
        const said = lines.filter((line) => line.includes('discarded.full='));
        const lost = /discarded\.full=(\d+)/.exec(said.at(-1) ?? '')?.[1] ?? 'not said';
        return { lost: Number(lost), missing: meant.length - lines.length };
      }, patient)
      .toSatisfy(({ lost, missing }: { lost: number; missing: number }) => lost === missing);
    const there = await arrived();
    expect(there.length).toBeGreaterThan(100);
    expect(there.slice(0, 100)).toEqual(numbers(100));
    expect(there).toEqual(there.toSorted((one, other) => one - other));
  });
});

describe('who may send, and to whom', () => {
  it('a certificate of another CA is refused', async () => {
    const other = await LogAggregator.start(await anotherNetwork());
    host = await ForwardingHost.start({
      ...{ network, ca: other.ca, trusted: aggregator.ca, certificate: name, images: false },
      changes: soon,
    });
    await host.log(0, 10);
    await expect.poll(() => aggregator.output(), patient).toMatch(/client certificate not trusted/);
    expect(await aggregator.files()).toEqual([]);
    await other.stop();
  });

  it('a certificate with a name that is not in the list is refused', async () => {
    host = await ForwardingHost.start({
      ...{ network, ca: aggregator.ca, certificate: 'stranger.example.org', images: false },
      changes: soon,
    });
    await host.log(0, 10);
    await expect.poll(() => aggregator.output(), patient).toMatch(/host="stranger.example.org"/);
    expect(await aggregator.files()).toEqual([]);
  });

  it('a server with another name gets no line, and the local log says why', async () => {
    const elsewhere = await anotherNetwork();
    const impostor = await LogAggregator.start(elsewhere, 'elsewhere.example.org');
    host = await ForwardingHost.start({
      ...{ network: elsewhere, ca: impostor.ca, certificate: name, images: false },
      changes: soon,
    });
    await host.log(0, 10);
    await expect.poll(() => host.local(), patient).toMatch(/omrelp.*(?:peer|certificate)/);
    expect(await impostor.files()).toEqual([]);
    await impostor.stop();
  });
});

const others: ChildProcess[] = [];
afterEach(async () => {
  for (const one of others.splice(0)) await endHolder(one);
});
async function anotherNetwork(): Promise<string> {
  const another = await startHolder();
  others.push(another);
  await ip(namespaceOf(another), 'link', 'set', 'lo', 'up');
  return namespaceOf(another);
}
