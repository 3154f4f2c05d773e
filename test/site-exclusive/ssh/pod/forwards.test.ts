import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../../rig/free-ports.ts';
import { openSite } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { Client } from '../../../../src/companions/verify/client.ts';
import { x11Case } from '../../../../src/companions/verify/cases/desktop.ts';
import { runCase } from '../../../../src/companions/verify/suite.ts';
import { run } from '../../../../src/companions/verify/run-client.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

describe("sshd's forwards of a session in a pod", () => {
  let pods: PodHost;
  const live: LiveSession[] = [];
  beforeAll(async () => {
    pods = await startPodHost(await openSite(), {
      ...{ mode: 'forced', users: { 'fw-ada': [], 'fw-bob': [], 'fw-off': [] } },
      profile: { lifetime: 'user' },
      profiles: { off: { pod: { forwards: false } } },
      sshYml: { rules: [{ users: ['fw-off'], profile: 'off' }, { profile: 'base' }] },
    });
  }, 600_000);
  afterEach(async () => {
    for (const session of live.splice(0)) await session.kill();
    // It forwards until its login has ended, and nothing of it must answer the session of the next test.
    await expect.poll(() => leaders('fw-ada')).toEqual([]);
  });
  afterAll(() => pods.stop());

  const begin = (user: string, ...words: string[]): LiveSession => {
    const session = LiveSession.start(pods.host, user, words);
    live.push(session);
    return session;
  };
  /** Of the user's own directory on the login node, in which the sessions find each other. */
  const bridgeFiles = (user: string) =>
    readdir(pods.host.path(`/run/user/${pods.host.account(user).uid}/berth-bridge`));
  /** None without the directory: it ends with the last connection. */
  const leaders = async (user: string) =>
    (await bridgeFiles(user).catch(() => [])).filter((name) => name.endsWith('.sock'));
  const led = (user: string) => expect.poll(() => leaders(user)).not.toEqual([]);

  it('-L and -D connect to what listens in the pod, in both directions and without losing bytes', async () => {
    const { here, socks, there } = await freePorts(['here', 'socks', 'there']);
    const forwards = ['-L', `${here}:127.0.0.1:${there}`, '-D', String(socks)];
    const session = begin('fw-ada', ...forwards, echoServer(there));
    await session.waitForOutput('ready');
    await waitFor({ what: 'the echo', timeoutMs: 60_000 }, () => echoed(here, Buffer.from('a')));
    const much = randomBytes(8 * 1024 * 1024);
    expect(digest(await echoed(here, much))).toBe(digest(much));
    const proxy = ['--max-time', '10', '-sS', '--socks5-hostname', `127.0.0.1:${socks}`];
    const { stdout } = await run('curl', [...proxy, `telnet://127.0.0.1:${there}`], { input: 'b' });
    expect(stdout.toString()).toBe('b');
  });

  it('nobody else on the login node gets through, and not a byte of theirs', async () => {
    const { there } = await freePorts(['there']);
    const session = begin('fw-ada', echoServer(there));
    await session.waitForOutput('ready');
    const say = (user: string) => {
      const script = `exec 3<>/dev/tcp/127.0.0.1/${there} || exit 9; echo hello $USER >&3; timeout 5 cat <&3`;
      return pods.host.asUser(user, ['bash', '-c', `(${script}) & sleep 2; kill $! 2>/dev/null`]);
    };
    const own = await waitFor({ what: 'the echo', timeoutMs: 60_000 }, async () => {
      const { stdout } = await say('fw-ada');
      return stdout.length === 0 ? undefined : stdout.toString();
    });
    expect(own).toBe('hello fw-ada\n');
    const before = session.output;
    const { stdout: got } = await say('fw-bob');
    expect(got.toString()).toBe('');
    await pods.host.asRoot(['bash', '-c', `echo x >/dev/tcp/127.0.0.1/${there}`]);
    expect((await say('fw-ada')).stdout.toString()).toBe('hello fw-ada\n');
    expect(session.output.slice(before.length).match(/came/g)).toHaveLength(1);
    expect(session.output).not.toContain('fw-bob');
    expect(await pods.host.log()).toContain('another user connected to a forwarded port');
  });

  it('-R works from the first action of a command, alone and with another session', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('from here');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ask = async (): Promise<string> => {
      const { there } = await freePorts(['there']);
      const command = `python3 -c 'import socket; print(socket.create_connection(("127.0.0.1", ${there})).recv(99).decode())'`;
      const words = ['-R', `${there}:127.0.0.1:${port}`, command];
      const { stdout, stderr } = await pods.host.ssh('fw-ada', words);
      return stdout.toString() + stderr;
    };
    try {
      expect(await ask()).toBe('from here\n');
      await begin('fw-ada', 'echo ready; sleep 60').waitForOutput('ready');
      await led('fw-ada');
      expect(await ask()).toBe('from here\n');
    } finally {
      server.close();
    }
  });

  it('Unix sockets of the pod’s /tmp are in directories of the user on the login node', async () => {
    const directories = `/run/user/${pods.host.account('fw-ada').uid}/berth-forwards`;
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('from here');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const connect = `python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/tmp/fw-r.sock"); print(s.recv(99).decode())'`;
      const remote = ['-R', `${directories}/remote/fw-r.sock:127.0.0.1:${port}`, connect];
      const { stdout, stderr } = await pods.host.ssh('fw-ada', remote);
      expect(stdout.toString() + stderr).toBe('from here\n');
    } finally {
      server.close();
    }
    const { here } = await freePorts(['here']);
    const local = [
      '-L',
      `${here}:${directories}/local/fw-l.sock`,
      unixEchoServer('/tmp/fw-l.sock'),
    ];
    const session = begin('fw-ada', ...local);
    await session.waitForOutput('ready');
    await waitFor({ what: 'the echo', timeoutMs: 60_000 }, () => echoed(here, Buffer.from('a')));
    // What other programs give a meaning to stays in the pod.
    const names = await readdir(pods.host.path(`${directories}/local`));
    expect(names).toEqual(['fw-l.sock']);
    expect(await readdir(pods.host.path('/tmp'))).not.toContain('fw-l.sock');
  });

  it('another session takes over when the one that forwards ends', async () => {
    const first = begin('fw-ada', 'echo ready; sleep 60');
    await first.waitForOutput('ready');
    await led('fw-ada');
    const { here, there } = await freePorts(['here', 'there']);
    const second = begin('fw-ada', '-L', `${here}:127.0.0.1:${there}`, echoServer(there));
    await second.waitForOutput('ready');
    const echo = () => echoed(here, Buffer.from('a'));
    await waitFor({ what: 'the echo', timeoutMs: 60_000 }, echo);
    await sleep(1500);
    await first.kill();
    await waitFor({ what: 'the echo again', timeoutMs: 60_000 }, echo);
  });

  it("the agent's keys sign in the pod", async () => {
    const { host } = pods;
    const [socket, text] = [join(host.directory, 'agent'), 'to be signed\n'];
    await withAgent(socket, async () => {
      const agent = { env: { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket } };
      await run('ssh-add', ['-q', host.key('fw-ada')], agent);
      const { stdout: key } = await run('ssh-keygen', ['-y', '-f', host.key('fw-ada')]);
      const sign = `set -e; d=$(mktemp -d); ssh-add -L >$d/k.pub; cat $d/k.pub >&2; echo ${text.trim()} | ssh-keygen -q -Y sign -n file -f $d/k.pub; rm -r $d`;
      const { stdout, stderr } = await host.ssh('fw-ada', ['-A', sign], agent);
      expect(stderr).toContain(key.toString().split(' ').slice(0, 2).join(' ').trim());
      const signature = join(host.directory, 'signature');
      await writeFile(signature, stdout);
      const verify = ['-Y', 'check-novalidate', '-n', 'file', '-s', signature];
      expect(await run('ssh-keygen', verify, { input: text })).toMatchObject({ exitCode: 0 });
    });
  });

  it("X11's display is reached from the pod", async () => {
    const { host } = pods;
    const key = host.key('fw-ada');
    const { PATH: path = '' } = process.env;
    const where = { host: '127.0.0.1', port: host.port, user: 'fw-ada', key, path };
    const client = await Client.connect(where);
    try {
      expect(await runCase(client, x11Case('-X'))).toMatchObject({ result: 'pass', detail: '' });
    } finally {
      await client.cleanUp();
    }
  });

  it('leaves nothing: no process or socket in the pod, no port or lock on the login node', async () => {
    const { there } = await freePorts(['there']);
    const session = begin('fw-ada', `echo $$ >~/server.pid; ${echoServer(there)}`);
    await session.waitForOutput('ready');
    await waitFor({ what: 'the port', timeoutMs: 60_000 }, () => listens(there));
    const { stdout: during } = await pods.host.ssh('fw-ada', [processes]);
    expect(during.toString()).toContain('-I -S -c');
    await session.kill();
    await waitFor({ what: 'the port to go', timeoutMs: 60_000 }, async () =>
      (await listens(there)) === true ? undefined : true,
    );
    await waitFor({ what: 'the helper to go', timeoutMs: 60_000 }, async () => {
      const { stdout } = await pods.host.ssh('fw-ada', [`${processes}; ls -d /tmp/berth-*`]);
      return /-I -S -c|berth-/.test(stdout.toString()) ? undefined : true;
    });
    expect(await bridgeFiles('fw-ada')).toEqual([]);
  });

  it('with `forwards: false` nothing of it is there', async () => {
    const { there } = await freePorts(['there']);
    const session = begin('fw-off', echoServer(there));
    await session.waitForOutput('ready');
    const socket = join(pods.host.directory, 'agent');
    await withAgent(socket, async () => {
      const env = { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket };
      const { stdout } = await pods.host.ssh('fw-off', ['-A', 'echo "<$SSH_AUTH_SOCK>"'], { env });
      expect(stdout.toString()).toBe('<>\n');
    });
    await sleep(3000);
    expect(await listens(there)).toBeUndefined();
    await expect(bridgeFiles('fw-off')).rejects.toThrow('ENOENT');
  });
});

/** All processes of the pod, with their words. */
const processes = String.raw`for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done 2>/dev/null | grep -v grep`;

/** The same at a path, and a second socket with a name that Kerberos knows. */
function unixEchoServer(path: string): string {
  const script = `import os, socket
for name in ("/tmp/krb5cc_0", "${path}"):
    if os.path.exists(name):
        os.unlink(name)
other = socket.socket(socket.AF_UNIX); other.bind("/tmp/krb5cc_0"); other.listen()
server = socket.socket(socket.AF_UNIX); server.bind("${path}"); server.listen()
print("ready", flush=True)
while True:
    peer = server.accept()[0]
    for part in iter(lambda: peer.recv(65536), b""):
        peer.sendall(part)
    peer.close()`;
  return `exec python3 -c '${script}'`;
}

/** A command that serves one after the other, says when somebody came, and sends back what it gets. */
function echoServer(port: number): string {
  const script = `import socket
server = socket.create_server(("127.0.0.1", ${port}))
print("ready", flush=True)
while True:
    peer = server.accept()[0]
    print("came", flush=True)
    try:
        for part in iter(lambda: peer.recv(65536), b""):
            peer.sendall(part)
    except OSError:
        pass
    peer.close()`;
  return `exec python3 -c '${script}'`;
}

async function withAgent(socket: string, work: () => Promise<void>): Promise<void> {
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  try {
    const env = { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket };
    await waitFor({ what: 'the agent', timeoutMs: 60_000 }, async () =>
      (await run('ssh-add', ['-l'], { env })).exitCode === 1 ? true : undefined,
    );
    await work();
  } finally {
    agent.kill();
    await once(agent, 'exit');
  }
}

/** What came back, all of it, or nothing. */
async function echoed(port: number, bytes: Buffer): Promise<Buffer | undefined> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  socket.setTimeout(20_000, () => socket.destroy());
  socket.on('error', () => undefined);
  socket.end(bytes);
  await once(socket, 'end').catch(() => undefined);
  socket.destroy();
  return parts.length === 0 ? undefined : Buffer.concat(parts);
}

function digest(bytes: Buffer | undefined): string {
  return createHash('sha256')
    .update(bytes ?? '')
    .digest('hex');
}

function listens(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(true));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(undefined)));
  });
}
