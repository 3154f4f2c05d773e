import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  encodeFrame,
  frameKinds,
  uint32,
} from '../../../../../src/sessions/forwarding/protocol/frames.ts';
import { helperProgram } from '../../../../../src/sessions/forwarding/helper-connection.ts';
import { freePorts } from '../../../../rig/free-ports.ts';
import { waitFor } from '../../../../rig/wait-for.ts';
import { CompiledRelay } from '../../../../rig/pod-exec/compiled-relay.ts';
import { HostilePod, type HostileStream } from './hostile-pod.ts';
import { RunningRelay } from '../../../../rig/pod-exec/relay-pod.ts';

/** What a session's process on the login node may hold at its highest, whatever a pod says. MiB. */
const most = 96;

/** How long each attack goes on at least, in milliseconds. */
const attackMs = 2000;

describe("a helper in the user's pod that violates the protocol", () => {
  let program: CompiledRelay;
  let pod: HostilePod;
  let directory: string;
  let relay: RunningRelay;
  let stream: HostileStream;
  let agent: Server;
  /** Connections that somebody made to the agent here. */
  let reached: Socket[];
  beforeAll(async () => {
    program = await CompiledRelay.make('test/rig/pod-exec/forwarder-program.ts');
    pod = await HostilePod.open();
  });
  afterAll(async () => {
    await pod.close();
    await program.remove();
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-bridge-'));
    for (const name of ['bridge', 'local', 'remote'])
      await mkdir(join(directory, name), { mode: 0o700 });
    reached = [];
    agent = createServer({ pauseOnConnect: true }, (socket) => {
      socket.on('error', () => undefined);
      reached.push(socket);
    });
    agent.listen(join(directory, 'agent'));
    await once(agent, 'listening');
    const words = {
      ...{ uid: process.getuid?.(), agent: join(directory, 'agent') },
      directory: join(directory, 'bridge'),
      sockets: { local: join(directory, 'local'), remote: join(directory, 'remote') },
      server: { url: pod.url, ca: pod.ca, token: 'of a session' },
      pod: { namespace: 'u-ada', pod: 'box', container: 'main' },
    };
    const [file, ...args] = [...program.argv, JSON.stringify(words)];
    const taken = pod.stream();
    relay = new RunningRelay(spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] }));
    stream = await taken;
    await relaySaid('"begin"');
    await word({ ready: {} });
    await relaySaid('"mirror"');
    await word({ mirrored: 1 });
    await relay.waitForOutput('begun');
  });
  afterEach(async () => {
    relay.child.kill('SIGKILL');
    await relay.ended;
    for (const socket of reached) socket.destroy();
    agent.close();
    await rm(directory, { recursive: true });
  });

  const relaySaid = (text: string): Promise<true> =>
    waitFor({ what: `${text} of the relay`, timeoutMs: 60_000, everyMs: 10 }, () =>
      Promise.resolve(said(stream).includes(text) ? true : undefined),
    );
  const comes = (kind: number, id: number, payload?: Buffer): Promise<void> =>
    stream.say(encodeFrame(kind, id, payload));
  const word = (value: object): Promise<void> =>
    comes(frameKinds.word, 0, Buffer.from(JSON.stringify(value)));
  /** One thing after the other, until the other end has had enough or the time is over. */
  const flood = async (next: (turn: number) => Buffer, ms = attackMs): Promise<void> => {
    const end = performance.now() + ms;
    for (let turn = 0; !stream.ended && performance.now() < end; turn += 1) {
      // Who does not read makes the flood wait, and that is well.
      await Promise.race([stream.say(next(turn)), sleep(200)]);
      await new Promise(setImmediate);
      if (relay.stderr.includes('forwarding-protocol')) return;
    }
  };
  /** Resident memory at its highest, in MiB. @throws where the program is not there any more */
  const peak = async (): Promise<number> => {
    const status = await readFile(`/proc/${relay.child.pid ?? 0}/status`, 'utf8');
    const [, found] = /VmHWM:\s+(\d+)/.exec(status) ?? [];
    if (found === undefined) throw new Error(`the relay is gone: ${relay.stderr}`);
    return Number(found) / 1024;
  };
  const endedBy = (reason: RegExp): Promise<true> =>
    waitFor({ what: `${String(reason)}, not ${relay.stderr}`, timeoutMs: 60_000 }, () =>
      Promise.resolve(reason.test(relay.stderr) ? true : undefined),
    );

  /** A port of the pod's, and a connection to it on the login node. */
  const portOfThePod = async (): Promise<{ socket: Socket; port: number }> => {
    const { port } = await freePorts(['port']);
    await word({ listening: [`tcp:${port}`] });
    const socket = await waitFor({ what: 'the port', timeoutMs: 60_000 }, async () => {
      const made = connect(port, '127.0.0.1');
      await once(made, 'connect');
      return made;
    });
    socket.on('error', () => undefined);
    await relaySaid(`tcp:${port}`);
    return { socket, port };
  };

  it('a window of 4 GiB without reading ends forwarding, but not the session', async () => {
    const { socket } = await portOfThePod();
    stream.stopReading();
    await comes(frameKinds.window, 2, uint32(0xffff_ffff));
    const piece = Buffer.alloc(1024 * 1024);
    const end = performance.now() + attackMs;
    let taken = 0;
    while (performance.now() < end && !socket.destroyed)
      if (socket.write(piece)) taken += piece.length;
      else await Promise.race([once(socket, 'drain').catch(() => undefined), sleep(200)]);
    socket.destroy();
    expect(await peak()).toBeLessThan(most);
    await endedBy(/code=forwarding-protocol/);
    expect(taken).toBeLessThan(64 * 1024 * 1024);
    expect(relay.child.exitCode).toBe(null);
  });

  /** Sockets that send to a port of the pod as much as they may. */
  const pour = (port: number, count: number): Socket[] => {
    const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(Buffer.alloc(2 * 1024 * 1024));
    }
    return sockets;
  };

  it('nothing read, and no window more: what is sent to its ports waits with the sender', async () => {
    const { port } = await portOfThePod();
    stream.stopReading();
    const sockets = pour(port, 200);
    await sleep(attackMs);
    for (const socket of sockets) socket.destroy();
    expect(await peak()).toBeLessThan(most);
    expect(relay.child.exitCode).toBe(null);
    expect(relay.stderr).not.toContain('forwarding-protocol');
  });

  it('any number of connections reach the agent only up to the limit', async () => {
    // One alone: the flood may end the bridge before any of its own gets there.
    await stream.say(encodeFrame(frameKinds.open, 1, Buffer.from('agent')));
    await waitFor({ what: 'the first to reach it', timeoutMs: 60_000 }, () =>
      Promise.resolve(reached.length > 0 ? true : undefined),
    );
    await flood((turn) => {
      const ids = Array.from({ length: 500 }, (_, index) => 2 * (500 * turn + index) + 3);
      return Buffer.concat(ids.map((id) => encodeFrame(frameKinds.open, id, Buffer.from('agent'))));
    });
    await sleep(500);
    expect(reached.length).toBeLessThanOrEqual(128);
    expect(await peak()).toBeLessThan(most);
  });

  it('connections to nothing, without reading the answers, end forwarding', async () => {
    const { port } = await portOfThePod();
    stream.stopReading();
    // What the network takes without an answer is full then.
    const sockets = pour(port, 100);
    await sleep(attackMs);
    await flood((turn) => {
      const ids = Array.from({ length: 5000 }, (_, index) => 2 * (5000 * turn + index) + 1);
      return Buffer.concat(
        ids.map((id) => encodeFrame(frameKinds.open, id, Buffer.from('tcp:22'))),
      );
    }, 30_000);
    for (const socket of sockets) socket.destroy();
    expect(await peak()).toBeLessThan(most);
    await endedBy(
      /code=forwarding-protocol .*does not read the answers|does not read the answers.* code=forwarding-protocol/,
    );
  });

  it('single bytes for an agent that does not read', async () => {
    const single = Buffer.concat(
      Array.from({ length: 16_000 }, () => encodeFrame(frameKinds.data, 1, Buffer.from('x'))),
    );
    await flood((turn) => {
      const id = 2 * turn + 1;
      for (let at = 0; at < single.length; at += 10) single.writeUInt32BE(id, at + 1);
      return Buffer.concat([encodeFrame(frameKinds.open, id, Buffer.from('agent')), single]);
    });
    await sleep(500);
    expect(await peak()).toBeLessThan(most);
  });

  it('full windows of the maximum number of connections', async () => {
    await flood((turn) => {
      const frames = [encodeFrame(frameKinds.open, 2 * turn + 1, Buffer.from('agent'))];
      // More than the first window of a connection, and not more than the largest.
      frames.push(encodeFrame(frameKinds.data, 2 * turn + 1, Buffer.alloc(16 * 1024)));
      return Buffer.concat(frames);
    });
    await sleep(500);
    expect(await peak()).toBeLessThan(most);
  });

  it('ports and sockets without end: so many of them are there, and no more', async () => {
    const lists = [0, 1].map((half) =>
      Array.from({ length: 900 }, (_, index) => `tcp:${20_000 + 2 * index + half}`),
    );
    const words = lists.map((listening) =>
      encodeFrame(frameKinds.word, 0, Buffer.from(JSON.stringify({ listening }))),
    );
    await flood((turn) => words[turn % 2] ?? Buffer.alloc(0));
    await sleep(500);
    expect(await peak()).toBeLessThan(most);
    const listening = await readFile('/proc/net/tcp', 'latin1');
    const own = await socketsOf(relay);
    const ports = [...listening.matchAll(/ 0100007F:\S+ \S+ 0A (?:\S+ +){5}(\d+) /g)];
    expect(ports.filter(([, inode = '']) => own.has(inode)).length).toBeLessThanOrEqual(64);
  });

  it('places that somebody else has, in turn: syslog is not filled', async () => {
    const { taken } = await freePorts(['taken']);
    const server = createServer().listen(taken, '127.0.0.1');
    await once(server, 'listening');
    const words = [[`tcp:${taken}`], []].map((listening) =>
      encodeFrame(frameKinds.word, 0, Buffer.from(JSON.stringify({ listening }))),
    );
    const end = performance.now() + attackMs;
    for (let turn = 0; performance.now() < end; turn += 1) {
      await stream.say(words[turn % 2] ?? Buffer.alloc(0));
      await sleep(5);
    }
    server.close();
    expect(relay.stderr.match(/not forwarded/g)).toHaveLength(1);
  });

  it.each([
    ['a list a million deep', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['a word of 10 MB', JSON.stringify({ listening: ['x'.repeat(10_000_000)] })],
  ])('%s ends forwarding', async (_what, text) => {
    await comes(frameKinds.word, 0, Buffer.from(text));
    await endedBy(/code=forwarding-protocol/);
    expect(await peak()).toBeLessThan(most);
  });

  it('names that others give a meaning are not made outside of a directory of the user', async () => {
    const names = ['krb5cc_4242', '.X11-unix', 'ssh-agent', 'ok.sock', '..'];
    await word({ listening: names.map((name) => `unix:/tmp/${name}`) });
    await waitFor({ what: 'the socket', timeoutMs: 60_000 }, async () =>
      (await readdir(join(directory, 'local'))).includes('ok.sock') ? true : undefined,
    );
    expect(await readdir(join(directory, 'local'))).toEqual(['ok.sock']);
    expect(await readdir('/tmp')).not.toEqual(expect.arrayContaining(['krb5cc_4242']));
  });
});

/** What the relay has said to the program in the pod, which was sent before. */
function said(stream: HostileStream): string {
  return stream.input.toString('latin1', Buffer.byteLength(helperProgram));
}

async function socketsOf({ child }: RunningRelay): Promise<ReadonlySet<string>> {
  const { readlink } = await import('node:fs/promises');
  const fds = `/proc/${child.pid ?? 0}/fd`;
  const links = (await readdir(fds)).map((name) => readlink(join(fds, name)).catch(() => ''));
  return new Set(
    (await Promise.all(links)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []),
  );
}
