import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { withoutApiServer } from '../../../../rig/site/kubernetes/api-server-outage.ts';
import type { Site } from '../../../../rig/site/site.ts';
import { waitFor } from '../../../../rig/wait-for.ts';
import { repetitions } from '../../../../rig/soak.ts';
import { GapProxy } from './gap-proxy.ts';
import type { RelayPod, RunningRelay } from '../../../../rig/pod-exec/relay-pod.ts';
import { withRelayPod } from '../../../../rig/pod-exec/with-relay-pod.ts';

let site: Site;
let box: RelayPod;

withRelayPod((made, on) => {
  box = made;
  site = on;
});

const sh = (script: string): string[] => ['sh', '-c', script];
const waits = sh('echo ready; sleep 300');

/**
 * A command that writes so many zeros and waits for the end of its input, as a session waits until all is
 * read (`withExitMarker`): the API server ends a stream whose command has ended at the first ping that it cannot
 * hand on, and what is unread is lost.
 */
const untilAllIsRead = (bytes: number, exitCode: number): string[] =>
  sh(`head -c ${bytes} /dev/zero; cat >/dev/null; exit ${exitCode}`);

const heartbeat = { every: 300, missed: 3 };

/** Resident memory at its highest, in MB. */
async function peak({ child }: RunningRelay): Promise<number> {
  const status = await readFile(`/proc/${child.pid ?? 0}/status`, 'utf8');
  // One that has ended, and that nobody has waited for, has no memory any more.
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

describe('a session that is cut off', () => {
  it.each([
    ['its pod is deleted', () => box.cluster.delete('pod', 'cut', box.namespace)],
    [
      "its pod's own process dies",
      async () => {
        await box.run(sh('kill -9 -1; kill 1'), { pod: 'cut' });
      },
    ],
  ])('never ends with 0: %s', async (_what, cut) => {
    await box.startPod('cut');
    const relay = box.spawn(waits, { pod: 'cut' });
    await relay.waitForOutput('ready');
    await cut();
    // The kubelet says how the command died, where it still can.
    expect([137, 143, 255]).toContain(await relay.ended);
    await box.cluster.kubectl(['-n', box.namespace, 'delete', 'pod', 'cut', '--ignore-not-found']);
  });

  it('says why when the API server dies', async () => {
    const relay = box.spawn(waits);
    await relay.waitForOutput('ready');
    await withoutApiServer(site, async () => {
      expect(await relay.ended).toBe(255);
      expect(relay.stderr).toMatch(/^relay: exec-connection-lost: /);
      const { exitCode, stderr } = await box.run(['true']);
      expect([exitCode, stderr]).toEqual([
        255,
        expect.stringMatching(/^relay: exec-unreachable: /),
      ]);
    });
    expect((await box.run(['true'])).exitCode).toBe(0);
  });

  it('says why when the network dies without a word, after so many pings', async () => {
    const proxy = await GapProxy.open(new URL(site.server));
    try {
      const relay = box.spawn(waits, { server: { url: proxy.url }, heartbeat });
      await relay.waitForOutput('ready');
      // Alive for longer than the pings may be missed.
      await sleep(2000);
      expect(relay.child.exitCode).toBe(null);
      proxy.silence();
      expect(await relay.ended).toBe(255);
      expect(relay.stderr).toContain('stopped responding');
    } finally {
      await proxy.close();
    }
  });

  it('gives up on a server that never answers the first request', async () => {
    const proxy = await GapProxy.open(new URL(site.server));
    try {
      const relay = box.spawn(waits, { server: { url: proxy.url }, timeoutMs: 1000 });
      proxy.silence();
      await waitFor({ what: 'the relay to connect', timeoutMs: 60_000, everyMs: 5 }, () => {
        proxy.silence();
        return Promise.resolve(relay.child.exitCode === null ? undefined : true);
      });
      expect(await relay.ended).toBe(255);
      expect(relay.stderr).toMatch(/^relay: exec-unreachable: .*no response within/);
    } finally {
      await proxy.close();
    }
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)('says so when it gets %s', async (signal) => {
    const relay = box.spawn(waits);
    await relay.waitForOutput('ready');
    relay.child.kill(signal);
    expect(await relay.ended).toBe(255);
    expect(relay.stderr).toBe(`relay: session-signalled: the session was ended by ${signal}\n`);
  });

  it('ends with SIGTERM while its output is not read', async () => {
    const relay = box.spawn(sh('cat /dev/zero'));
    await waitFor({ what: 'a full pipe', timeoutMs: 60_000 }, async () => {
      const before = relay.child.stdout.readableLength;
      await sleep(300);
      return before > 0 && relay.child.stdout.readableLength === before ? true : undefined;
    });
    relay.child.kill('SIGTERM');
    expect(await relay.ended).toBe(255);
  });

  it('ends when its output is no longer read', async () => {
    const relay = box.spawn(sh('echo ready; while :; do echo more; sleep 0.1; done'));
    await relay.waitForOutput('ready');
    relay.child.stdout.destroy();
    expect(await relay.ended).toBe(255);
    expect(relay.stderr).toContain('relay: exec-output-closed: ');
  });
});

// Many times the memory that it may have.
const bytes = repetitions(160_000_000, 4_000_000_000);

describe(`${bytes / 1e6} MB`, () => {
  /** The highest of the resident memory while it runs, in MB. */
  async function peakToTheEnd(relay: RunningRelay): Promise<number> {
    let most = 0;
    while ((await Promise.race([relay.ended, sleep(200)])) === undefined)
      most = Math.max(most, await peak(relay).catch(() => 0));
    expect(most).toBeGreaterThan(0);
    return most;
  }

  it('arrive with 64 MB of memory', { timeout: 300_000 }, async () => {
    const relay = box.spawn(untilAllIsRead(bytes, 4));
    let size = 0;
    relay.child.stdout.on('data', (part: Buffer) => {
      size += part.length;
      if (size >= bytes) relay.child.stdin.end();
    });
    expect(await peakToTheEnd(relay)).toBeLessThan(64);
    expect([await relay.ended, size], relay.stderr).toEqual([4, bytes]);
  });

  it('are sent with 64 MB of memory', { timeout: 300_000 }, async () => {
    const relay = box.spawn(sh('wc -c; exit 6')).collectOutput();
    createReadStream('/dev/zero', { end: bytes - 1 }).pipe(relay.child.stdin);
    expect(await peakToTheEnd(relay)).toBeLessThan(64);
    expect([await relay.ended, relay.stdout.trim()]).toEqual([6, String(bytes)]);
  });
});

describe('a slow side', () => {
  // A busy server may need a second for an answer; what is slow here takes longer than all of them.
  const heartbeat = { every: 500, missed: 6 };

  it('makes the command wait, not the memory grow: 100 MB that nobody reads for a while', async () => {
    const relay = box.spawn(untilAllIsRead(100_000_000, 4), { heartbeat });
    // Longer than the pings may be missed: while nothing is read none can be answered.
    await sleep(4000);
    expect(relay.child.exitCode).toBe(null);
    // Node itself has up to 66 on a busy machine.
    expect(await peak(relay)).toBeLessThan(96);
    let size = 0;
    relay.child.stdout.on('data', (bytes: Buffer) => (size += bytes.length));
    await waitFor({ what: 'all of it', timeoutMs: 60_000 }, () =>
      Promise.resolve(size === 100_000_000 ? true : undefined),
    );
    relay.child.stdin.end();
    expect(await relay.ended, relay.stderr).toBe(4);
  });

  it('makes the writer wait: a command that does not read is not taken for a dead one', async () => {
    const relay = box.spawn(sh('sleep 4; wc -c; exit 6'), { heartbeat }).collectOutput();
    const input = Buffer.alloc(40_000_000);
    relay.child.stdin.end(input);
    await sleep(2000);
    expect(relay.child.stdin.writableLength).toBeGreaterThan(0);
    expect(await relay.ended).toBe(6);
    expect(relay.stdout.trim()).toBe(String(input.length));
  });
});
