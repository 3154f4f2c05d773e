import { randomBytes } from 'node:crypto';
import { same, matches, succeeded, type Case } from './case.ts';
import { Background } from './background-client.ts';
import type { Client } from './client.ts';
import { freePorts } from '../rig/site/ports.ts';
import { waitFor } from '../rig/site/wait.ts';

/** The user's agent, display and editor in a session. */
export const desktop: readonly Case[] = [
  {
    name: 'agent forwarding: the session sees the keys of the local agent',
    run: async (client) => {
      await client.needsRemote('ssh-add');
      await withAgent(client, async (agent) => {
        const { stdout } = await client.ssh(['-A', 'ssh-add -l'], {
          env: { SSH_AUTH_SOCK: agent },
        });
        const fingerprint = (await client.local('ssh-keygen', ['-lf', client.path('key')])).split(
          ' ',
        )[1];
        same('fingerprint', stdout.toString().split(' ')[1], fingerprint);
      });
    },
  },
  {
    name: 'agent forwarding: not available without -A',
    run: async (client) => {
      await withAgent(client, async (agent) => {
        const { stdout } = await client.ssh(['-a', 'echo "<$SSH_AUTH_SOCK>"'], {
          env: { SSH_AUTH_SOCK: agent },
        });
        same('SSH_AUTH_SOCK', stdout.toString(), '<>\n');
      });
    },
  },
  {
    name: 'agent forwarding: ssh from the session authenticates with the local key',
    run: async (client) => {
      await client.needsRemote('ssh');
      await withAgent(client, async (agent) => {
        const { host, port } = client.target;
        const onwards = `ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p ${port} ${client.destination} echo onwards`;
        const { stdout } = succeeded(
          `ssh from there to ${host}`,
          await client.ssh(['-A', onwards], { env: { SSH_AUTH_SOCK: agent } }),
        );
        same('stdout', stdout.toString(), 'onwards\n');
      });
    },
  },
  x11Case('-X'),
  x11Case('-Y'),
  {
    name: 'VS Code: the bootstrap script on stdin of bash, a server that stays, SOCKS and a new session to it',
    run: async (client) => {
      await client.needsRemote('python3', 'bash', 'nohup');
      const { socks } = await freePorts(['socks']);
      // Called as by the extension: the script ends, and the session stays open as long as stdin.
      const words = ['-T', '-D', String(socks), '-o', 'ConnectTimeout=15', 'bash'];
      const session = Background.ssh(client, words);
      try {
        session.write(bootstrap(client));
        const [, port = ''] = await session.shows(/listeningOn==(\d+)==/);
        await session.shows(/f00d: end\n/);
        const proxy = ['-sS', '--socks5-hostname', `127.0.0.1:${socks}`];
        const ask = () => client.local('curl', [...proxy, `http://127.0.0.1:${port}/version`]);
        const version = await waitFor({ what: 'the server', timeoutMs: 10_000 }, ask);
        same('version', version, 'f00dcafe');
        session.write('echo "still here: $(cat ~/' + client.remote + '/server.pid)"\n');
        await session.shows(/still here: \d+/);
        same('version', await ask(), 'f00dcafe');
      } finally {
        await session.end();
      }
    },
    packages: ['curl'],
  },
];

/** Part of the suite, and used by other tests. */
export function x11Case(option: '-X' | '-Y'): Case {
  return {
    name: `X11 with ${option}: xdpyinfo in the session reaches the local display`,
    packages: ['xvfb', 'xauth', 'x11-utils'],
    run: async (client) => {
      await client.needsRemote('xdpyinfo', 'xauth');
      // Xvfb chooses the number of the display; its own cookie entry may be for any number.
      const cookie = randomBytes(16).toString('hex');
      const [own, authority] = [client.path('Xvfb.auth'), client.path('Xauthority')];
      await client.local('xauth', ['-q', '-f', own, 'add', ':0', '.', cookie]);
      const server = Background.start(client, [
        ...['Xvfb', '-displayfd', '1', '-screen', '0', '800x600x24', '-nolisten', 'tcp'],
        ...['-auth', own],
      ]);
      try {
        const [, number = ''] = await server.shows(/^(\d+)\n/);
        const env = { DISPLAY: `:${number}`, XAUTHORITY: authority };
        await client.local('xauth', ['-q', '-f', authority, 'add', `:${number}`, '.', cookie]);
        succeeded('xdpyinfo here', await client.run('xdpyinfo', [], { env }));
        const { stdout } = succeeded('xdpyinfo', await client.ssh([option, 'xdpyinfo'], { env }));
        matches('xdpyinfo', stdout.toString(), /dimensions: +800x600 pixels/);
        const without = await client.ssh(['-x', 'echo "<$DISPLAY>"'], { env });
        same('DISPLAY without X11', without.stdout.toString(), '<>\n');
      } finally {
        await server.end();
      }
    },
  };
}

async function withAgent(client: Client, work: (socket: string) => Promise<void>): Promise<void> {
  const socket = client.path('agent.sock');
  const agent = Background.start(client, ['ssh-agent', '-D', '-a', socket]);
  try {
    const env = { SSH_AUTH_SOCK: socket };
    await waitFor({ what: 'the agent', timeoutMs: 10_000 }, async () => {
      const { exitCode } = await client.run('ssh-add', ['-q', client.path('key')], { env });
      return exitCode === 0 ? true : undefined;
    });
    await work(socket);
  } finally {
    await agent.end();
    await client.run('rm', ['-f', socket]);
  }
}

/**
 * A short form of what VS Code's extension pipes into the shell: a lock by link(2), a server that chooses a port on
 * loopback and is left running with nohup, its log polled for the port, and marked lines on stdout. The server is a
 * stand-in, because Microsoft's is not free software.
 */
function bootstrap({ remote }: Client): string {
  const directory = `~/${remote}`;
  return `echo f00d: running
cd ${directory} || exit 1
umask 077
echo $$ >lock.$$ && \\ln lock.$$ lock && echo locked
cat >server.py <<'EOS'
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"f00dcafe")
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("Extension host agent listening on %d" % server.server_address[1], flush=True)
server.serve_forever()
EOS
nohup python3 server.py &>server.log </dev/null &
echo $! >server.pid
for i in $(seq 100); do
  port=$(sed -n 's/.*listening on \\([0-9]*\\)$/\\1/p' server.log)
  [ -n "$port" ] && break
  sleep 0.1
done
rm -f lock lock.$$
echo "f00d: start"
echo "listeningOn==$port=="
echo "platform==$(uname -s)=="
echo "f00d: end"
`;
}
