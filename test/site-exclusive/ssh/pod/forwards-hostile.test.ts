import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../../rig/free-ports.ts';
import { openSite } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

/** What a session's process on the login node may hold at its highest, whatever a pod says; docs/ssh-pods-internals.md. MiB. */
const most = 96;

/** Stops the program in the pod that forwards, and speaks in its place: the words of `script` after `say`. */
const hostile = (script: string): string => `python3 -c '
import glob, json, os, signal, struct, sys, time
def frame(kind, id, payload=b""):
    return struct.pack("!BII", kind, id, len(payload)) + payload
def helper():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\\0")
        except OSError:
            continue
        if b"-I" in words and b"-S" in words:
            return int(path.split("/")[2])
while helper() is None:
    time.sleep(0.1)
print("found", flush=True)
sys.stdin.readline()
pid = helper()
os.kill(pid, signal.SIGSTOP)
out = os.open("/proc/%d/fd/1" % pid, os.O_WRONLY | os.O_NONBLOCK)
limit = time.time() + 6
def say(data):
    # The node does not read on from what the login node has given up.
    while data and time.time() < limit:
        try:
            data = data[os.write(out, data):]
        except BlockingIOError:
            time.sleep(0.005)
print("speaks", flush=True)
try:
${script
  .trim()
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
except OSError:
    pass
print("done", flush=True)
time.sleep(300)'`;

describe('a pod that imitates the forwarding helper', () => {
  let pods: PodHost;
  let session: LiveSession | undefined;
  beforeAll(async () => {
    pods = await startPodHost(await openSite(), {
      ...{ mode: 'forced', users: { 'fh-ada': [] } },
      profile: { lifetime: 'connection' },
    });
  }, 600_000);
  afterEach(() => session?.kill());
  afterAll(() => pods.stop());

  /** Resident memory at its highest of the session's process on the login node. MiB. */
  const peak = async (): Promise<number> => {
    const script = String.raw`for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q shell/login && grep VmHWM $p/status; done; true`;
    const { stdout } = await pods.host.asRoot(['bash', '-c', script]);
    const sizes = [...stdout.toString().matchAll(/VmHWM:\s+(\d+)/g)].map(([, size]) =>
      Number(size),
    );
    expect(sizes.length).toBeGreaterThan(0);
    return Math.max(...sizes) / 1024;
  };
  const said = (text: RegExp): Promise<true> =>
    waitFor({ what: String(text), timeoutMs: 60_000 }, async () =>
      text.test(await pods.host.log()) ? true : undefined,
    );

  it('grants 4 GiB and reads nothing: the forwards end, the session and its memory do not', async () => {
    const { there } = await freePorts(['there']);
    const script = `
say(b"".join(frame(4, id, struct.pack("!I", 0xffffffff)) for id in (2, 4, 6, 8, 10)))
time.sleep(3)`;
    const server = `python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", ${there})); time.sleep(300)' & `;
    session = LiveSession.start(pods.host, 'fh-ada', [server + hostile(script)]);
    await session.waitForOutput('found');
    const pour = `head -c 2000000000 /dev/zero >/dev/tcp/127.0.0.1/${there}`;
    const poured = waitFor({ what: 'the port', timeoutMs: 60_000 }, async () => {
      const { stdout } = await pods.host.asUser('fh-ada', [
        ...['bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${there} && echo there`],
      ]);
      return stdout.toString() === 'there\n' ? true : undefined;
    }).then(() => pods.host.asUser('fh-ada', ['timeout', '8', 'bash', '-c', pour]));
    await sleep(2000);
    session.client.stdin?.write('\n');
    await session.waitForOutput('done');
    await poured;
    await said(/forwarding-protocol/);
    expect(await peak()).toBeLessThan(most);
    expect(session.client.exitCode).toBe(null);
  });

  it('opens and listens without end', async () => {
    const script = `
end = time.time() + 4
id = 1000001
words = [frame(5, 0, json.dumps({"listening": ["tcp:%d" % (20000 + 2 * i + half) for i in range(900)]}).encode()) for half in (0, 1)]
while time.time() < end:
    say(words[0] + words[1])
    say(b"".join(frame(0, id + 2 * i, b"agent" if i % 2 else b"tcp:22") for i in range(2000)))
    id += 4000`;
    session = LiveSession.start(pods.host, 'fh-ada', [hostile(script)]);
    await session.waitForOutput('found');
    await sleep(2000);
    session.client.stdin?.write('\n');
    await session.waitForOutput('speaks');
    await session.waitForOutput('done');
    expect(await peak()).toBeLessThan(most);
    const { stdout } = await pods.host.asRoot(['cat', '/proc/net/tcp']);
    const uid = String(pods.host.account('fh-ada').uid);
    const ports = [...stdout.toString().matchAll(/ 0100007F:\S+ \S+ 0A (?:\S+ +){3}(\d+) /g)];
    expect(ports.filter(([, whose]) => whose === uid).length).toBeLessThanOrEqual(64);
    expect(session.client.exitCode).toBe(null);
  });
});
