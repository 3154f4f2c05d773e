import { type AddressInfo, createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { freePort } from '../free-port.ts';
import { waitFor } from '../wait-for.ts';
import { BackgroundClient } from '../background-client.ts';
import type { Case } from '../case.ts';
import { assertEqual, assertSuccess, Skip } from '../expect.ts';
import type { Client } from '../client.ts';

const nc = { nc: 'netcat-openbsd' };

const socketOnHost = "sshd creates the socket in the host's /tmp, and the session has its own /tmp";
const ownTmp = {
  podman: socketOnHost,
  slurm: socketOnHost,
  pod: "sockets of forwards are in a directory of the user's own on the login node, not in its /tmp",
};

/** Forwarding of ports and Unix sockets; the remote end is where the user's programs run. */
export const forwards: readonly Case[] = [
  {
    name: '-L: to a port on which a program of the session listens',
    programs: nc,
    run: async (client) => {
      await requireNc(client);
      const local = await freePort();
      const there = remotePort();
      const args = ['-L', `${local}:127.0.0.1:${there}`, listener(`127.0.0.1 ${there}`)];
      await answered(client, args, ['-N', '127.0.0.1', String(local)]);
    },
  },
  {
    name: '-L: from a local Unix socket to one in the remote home',
    programs: nc,
    run: async (client) => {
      await requireNc(client);
      const home = (await client.remoteOutput('pwd -P')).trim();
      const [here, there] = [
        client.localPath('l.sock'),
        `${home}/${client.remoteDirectory}/l.sock`,
      ];
      await answered(
        client,
        ['-L', `${here}:${there}`, listener(`-U ${there}`)],
        ['-N', '-U', here],
      );
    },
  },
  {
    name: '-L: to a Unix socket in /tmp of the session',
    known: ownTmp,
    programs: nc,
    run: async (client) => {
      await requireNc(client);
      const [here, there] = [client.localPath('t.sock'), `/tmp/${client.remoteDirectory}.l.sock`];
      const command = `trap 'rm -f ${there}' EXIT; ${listener(`-U ${there}`)}`;
      await answered(client, ['-L', `${here}:${there}`, command], ['-N', '-U', here]);
    },
  },
  {
    name: '-R: a program of the session reaches a local port',
    programs: nc,
    run: (client) =>
      serving(async (port) => {
        await requireNc(client);
        const there = remotePort();
        const args = ['-R', `${there}:127.0.0.1:${port}`, `nc -N 127.0.0.1 ${there} </dev/null`];
        const { stdout } = assertSuccess('ssh', await client.ssh([...strict, ...args]));
        assertEqual('stdout', stdout.toString(), 'from here');
      }),
  },
  remoteSocketCase('-R: from a Unix socket in the remote home', async (client) => {
    const home = (await client.remoteOutput('pwd -P')).trim();
    return `${home}/${client.remoteDirectory}/r.sock`;
  }),
  {
    ...remoteSocketCase('-R: from a Unix socket in /tmp of the session', (client) =>
      Promise.resolve(`/tmp/${client.remoteDirectory}.r.sock`),
    ),
    known: ownTmp,
  },
  {
    name: '-D: curl reaches a web server of the session through SOCKS',
    programs: { curl: 'curl' },
    run: async (client) => {
      await requireNc(client);
      const local = await freePort();
      const there = remotePort();
      const response = String.raw`HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello`;
      const server = `echo ready; while printf '${response}' | nc -l -N 127.0.0.1 ${there} >/dev/null; do :; done`;
      const session = BackgroundClient.ssh(client, ['-D', String(local), server]);
      try {
        await session.waitForOutput(/ready/);
        const args = [
          '-sS',
          '--socks5-hostname',
          `127.0.0.1:${local}`,
          `http://127.0.0.1:${there}/`,
        ];
        const answer = await waitFor({ what: 'the web server', timeoutMs: 10_000 }, () =>
          client.localOutput('curl', args),
        );
        assertEqual('answer', answer, 'hello');
      } finally {
        await session.terminate();
      }
    },
  },
];

/** @throws Skip if nc is missing or another than OpenBSD's, here or in the session: only that one has -N with -U */
async function requireNc(client: Client): Promise<void> {
  await client.requireRemotePrograms('nc');
  const ask = 'nc -h 2>&1 | grep -q -e "-N.*[Ss]hutdown"; echo $?';
  const here = await client.localOutput('sh', ['-c', ask]);
  if (here !== '0\n') throw new Skip("the nc of this machine is not OpenBSD's");
  if ((await client.remoteOutput(ask)) !== '0\n')
    throw new Skip("the nc of the session is not OpenBSD's");
}

const strict = ['-o', 'ExitOnForwardFailure=yes'];

/** A program of the session connects to a remote socket that is forwarded to a local port. */
function remoteSocketCase(name: string, socketOf: (client: Client) => Promise<string>): Case {
  return {
    name,
    programs: nc,
    run: (client) =>
      serving(async (port) => {
        await requireNc(client);
        const socket = await socketOf(client);
        const forward = ['-R', `${socket}:127.0.0.1:${port}`];
        const command = `nc -N -U ${socket} </dev/null; rm -f ${socket}`;
        const { stdout } = assertSuccess('ssh', await client.ssh([...strict, ...forward, command]));
        assertEqual('stdout', stdout.toString(), 'from here');
      }),
  };
}

/** A random port of the session, probably free; if it is not, the case fails with an error that names it. */
function remotePort(): number {
  return randomInt(20_000, 32_000);
}

/**
 * A command that accepts one connection with nc, sends `hello there`, and prints what it receives. Not from a pipe: what is
 * written there after the client has ended its output, nc drops.
 */
function listener(where: string): string {
  return `echo ready; nc -l -N ${where} <<'END'\nhello there\nEND`;
}

/** Opens a session with a forward, sends data through it with nc, and checks what arrives at both ends. */
async function answered(
  client: Client,
  args: readonly string[],
  nc: readonly string[],
): Promise<void> {
  const session = BackgroundClient.ssh(client, [...strict, ...args]);
  try {
    await session.waitForOutput(/ready/);
    // `ready` is printed before nc listens.
    const answer = await waitFor({ what: 'an answer', timeoutMs: 10_000 }, async () => {
      const { stdout } = await client.runLocal('nc', nc, {
        input: 'hello from here',
        timeout: 5000,
      });
      return stdout.length === 0 ? undefined : stdout.toString();
    });
    assertEqual('answer', answer, 'hello there\n');
    await session.waitForOutput(/hello from here/);
  } finally {
    await session.terminate();
  }
}

/** Runs `work` with the port of a local server that sends `from here` to each connection. */
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
