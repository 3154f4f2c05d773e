import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { randomInt } from 'node:crypto';
import { freePorts } from '../rig/site/ports.ts';
import { waitFor } from '../rig/site/wait.ts';
import { Background } from './background-client.ts';
import { same, succeeded, type Case } from './case.ts';
import type { Client } from './client.ts';

const nc = ['netcat-openbsd'];

/** Forwards: their remote end is where the user's programs run. */
export const forwards: readonly Case[] = [
  {
    name: '-L: to a port that a program of the session listens on',
    packages: nc,
    run: async (client) => {
      await client.needsRemote('nc');
      const { local } = await freePorts(['local']);
      const there = remotePort();
      const words = ['-L', `${local}:127.0.0.1:${there}`, listener(`127.0.0.1 ${there}`)];
      await answered(client, words, ['-N', '127.0.0.1', String(local)]);
    },
  },
  {
    name: '-L: from a local Unix socket to one in the remote home',
    packages: nc,
    run: async (client) => {
      await client.needsRemote('nc');
      const home = (await client.output('pwd -P')).trim();
      const [here, there] = [client.path('l.sock'), `${home}/${client.remote}/l.sock`];
      await answered(
        client,
        ['-L', `${here}:${there}`, listener(`-U ${there}`)],
        ['-N', '-U', here],
      );
    },
  },
  {
    name: '-L: to a remote Unix socket in /tmp',
    packages: nc,
    run: async (client) => {
      await client.needsRemote('nc');
      const [here, there] = [client.path('t.sock'), `/tmp/${client.remote}.l.sock`];
      const command = `trap 'rm -f ${there}' EXIT; ${listener(`-U ${there}`)}`;
      await answered(client, ['-L', `${here}:${there}`, command], ['-N', '-U', here]);
    },
  },
  {
    name: '-R: a program of the session reaches a local port',
    packages: nc,
    run: (client) =>
      serving(async (port) => {
        await client.needsRemote('nc');
        const there = remotePort();
        const words = ['-R', `${there}:127.0.0.1:${port}`, `nc -N 127.0.0.1 ${there} </dev/null`];
        const { stdout } = succeeded('ssh', await client.ssh([...strict, ...words]));
        same('stdout', stdout.toString(), 'from here');
      }),
  },
  {
    name: '-R: a Unix socket in the remote home leads to a local one',
    packages: nc,
    run: (client) =>
      serving(async (port) => {
        await client.needsRemote('nc');
        const there = `${(await client.output('pwd -P')).trim()}/${client.remote}/r.sock`;
        const words = [
          '-R',
          `${there}:127.0.0.1:${port}`,
          `nc -N -U ${there} </dev/null; rm -f ${there}`,
        ];
        const { stdout } = succeeded('ssh', await client.ssh([...strict, ...words]));
        same('stdout', stdout.toString(), 'from here');
      }),
  },
  {
    name: '-R: a remote Unix socket in /tmp leads to a local one',
    packages: nc,
    run: (client) =>
      serving(async (port) => {
        await client.needsRemote('nc');
        const there = `/tmp/${client.remote}.r.sock`;
        const words = [
          '-R',
          `${there}:127.0.0.1:${port}`,
          `nc -N -U ${there} </dev/null; rm -f ${there}`,
        ];
        const { stdout } = succeeded('ssh', await client.ssh([...strict, ...words]));
        same('stdout', stdout.toString(), 'from here');
      }),
  },
  {
    name: '-D: curl reaches a web server of the session through SOCKS',
    packages: ['curl'],
    run: async (client) => {
      await client.needsRemote('nc');
      const { local } = await freePorts(['local']);
      const there = remotePort();
      const response = String.raw`HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello`;
      const server = `echo ready; while printf '${response}' | nc -l -N 127.0.0.1 ${there} >/dev/null; do :; done`;
      const session = Background.ssh(client, ['-D', String(local), server]);
      try {
        await session.shows(/ready/);
        const words = [
          '-sS',
          '--socks5-hostname',
          `127.0.0.1:${local}`,
          `http://127.0.0.1:${there}/`,
        ];
        const said = await waitFor({ what: 'the web server', timeoutMs: 10_000 }, () =>
          client.local('curl', words),
        );
        same('answer', said, 'hello');
      } finally {
        await session.end();
      }
    },
  },
];

const strict = ['-o', 'ExitOnForwardFailure=yes'];

/** A remote port that is probably free; on a collision the case fails and reports it. */
function remotePort(): number {
  return randomInt(20_000, 32_000);
}

/** A command that listens once with nc, sends `hello there`, and prints what it receives. */
function listener(where: string): string {
  return `echo ready; printf 'hello there' | nc -l -N ${where}`;
}

/** Opens a session with a forward, sends text through it with nc, and checks both ends. */
async function answered(
  client: Client,
  words: readonly string[],
  nc: readonly string[],
): Promise<void> {
  const session = Background.ssh(client, [...strict, ...words]);
  try {
    await session.shows(/ready/);
    // nc may print this before it listens.
    const said = await waitFor({ what: 'an answer', timeoutMs: 10_000 }, async () => {
      const { stdout } = await client.run('nc', nc, { input: 'hello from here', timeout: 5000 });
      return stdout.length === 0 ? undefined : stdout.toString();
    });
    same('answer', said, 'hello there');
    await session.shows(/hello from here/);
  } finally {
    await session.end();
  }
}

/** A local server that sends a greeting to each client. */
async function serving(work: (port: number) => Promise<void>): Promise<void> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('from here');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}
