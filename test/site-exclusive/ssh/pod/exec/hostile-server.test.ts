import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CompiledRelay } from '../../../../rig/pod-exec/compiled-relay.ts';
import { header, HostilePod, type HostileStream } from './hostile-pod.ts';
import { RunningRelay } from '../../../../rig/pod-exec/relay-pod.ts';

/** MiB; see docs/ssh-pods-internals.md. */
const most = 96;

/** How long each attack goes on at least, in milliseconds. */
const attackMs = 2000;

const [stdout, errors] = [1, 3];

describe('what an API server says to the relay', () => {
  let program: CompiledRelay;
  let server: HostilePod;
  let relay: RunningRelay;
  let stream: HostileStream;
  let out: number;
  beforeAll(async () => {
    program = await CompiledRelay.make();
    server = await HostilePod.open();
  });
  afterAll(async () => {
    await server.close();
    await program.remove();
  });
  beforeEach(async () => {
    const words = {
      server: { url: server.url, ca: server.ca, token: 'of a session' },
      target: { namespace: 'u-ada', pod: 'box', argv: ['true'], tty: false },
    };
    const [file, ...args] = [...program.argv, JSON.stringify(words)];
    const taken = server.stream();
    relay = new RunningRelay(spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] }));
    out = 0;
    relay.child.stdout.on('data', (bytes: Buffer) => (out += bytes.length));
    stream = await taken;
  });
  afterEach(async () => {
    relay.child.kill('SIGKILL');
    await relay.ended;
  });

  /** Resident memory at its highest while something goes on. MiB. */
  const peakDuring = async (work: () => Promise<void>): Promise<number> => {
    let peak = 0;
    const look = async (): Promise<void> => {
      const status = await readFile(`/proc/${relay.child.pid ?? 0}/status`, 'utf8').catch(() => '');
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    };
    // Also before: it may end at the first bytes, and the kernel says nothing of one that has ended.
    await look();
    const timer = setInterval(() => void look(), 20);
    await work();
    await look();
    clearInterval(timer);
    expect(peak).toBeGreaterThan(0);
    return peak;
  };
  const flood = async (bytes: Buffer): Promise<void> => {
    const end = performance.now() + attackMs;
    while (!stream.ended && performance.now() < end) {
      await Promise.race([stream.raw(bytes), sleep(200)]);
      await new Promise(setImmediate);
    }
  };

  it('a frame of 2 GB is passed on as it arrives', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    const peak = await peakDuring(async () => {
      await stream.raw(Buffer.concat([header(2_000_000_000), Buffer.from([stdout])]));
      await flood(piece);
    });
    expect(out).toBeGreaterThan(10 * piece.length);
    expect(peak).toBeLessThan(most);
  });

  it('an endless series of empty fragments', async () => {
    const peak = await peakDuring(async () => {
      await stream.raw(Buffer.concat([header(1, 0x02), Buffer.from([stdout])]));
      await flood(Buffer.concat(Array.from({ length: 10_000 }, () => header(0, 0x00))));
    });
    expect(peak).toBeLessThan(most);
    expect(relay.child.exitCode).toBe(null);
  });

  it('an endless error channel ends the session', async () => {
    const one = Buffer.concat([header(1001), Buffer.from([errors]), Buffer.alloc(1000, ' ')]);
    const all = Buffer.concat(Array.from({ length: 1000 }, () => one));
    const peak = await peakDuring(() => flood(all));
    expect(await relay.ended).toBe(255);
    expect(relay.stderr).toMatch(/^relay: exec-protocol: .*more than \d+ bytes/);
    expect(peak).toBeLessThan(most);
  });

  it('pings without end, and no answer read', async () => {
    stream.stopReading();
    const ping = Buffer.concat([header(125, 0x89), Buffer.alloc(125)]);
    const all = Buffer.concat(Array.from({ length: 2000 }, () => ping));
    const peak = await peakDuring(async () => {
      await flood(all);
      await flood(all);
    });
    expect(peak).toBeLessThan(most);
    expect(relay.child.exitCode).toBe(null);
  });

  it.each([
    ['a message as long as it may be', JSON.stringify({ message: 'x'.repeat(200_000) })],
    ['lists in lists', `{"message":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('a Status of %s is one line', async (_what, status) => {
    await stream.say(Buffer.from(status), errors);
    expect(await relay.ended).toBe(255);
    expect(relay.stderr).toMatch(/^relay: exec-failed-in-pod: .{1,700}\n$/);
  });
});
