import { randomBytes } from 'node:crypto';
import type { Case } from '../case.ts';
import { assertEqual, assertMatches, assertSuccess } from '../expect.ts';
import { BackgroundClient } from '../background-client.ts';
import type { Client } from '../client.ts';
import { freePort } from '../free-port.ts';
import { waitFor } from '../wait-for.ts';

/** Forwarding of the SSH agent and of X11, and VS Code. */
export const desktop: readonly Case[] = [
  {
    name: 'agent forwarding: ssh-add in the session lists the keys of the client machine',
    run: async (client) => {
      await client.requireRemotePrograms('ssh-add');
      await withAgent(client, async (agent) => {
        const { stdout } = await client.ssh(['-A', 'ssh-add -l'], {
          env: { SSH_AUTH_SOCK: agent },
        });
        const fingerprint = (
          await client.localOutput('ssh-keygen', ['-lf', client.localPath('key')])
        ).split(' ')[1];
        assertEqual('fingerprint', stdout.toString().split(' ')[1], fingerprint);
      });
    },
  },
  {
    name: 'agent forwarding: disabled with -a',
    run: async (client) => {
      await withAgent(client, async (agent) => {
        const { stdout } = await client.ssh(['-a', 'echo "<$SSH_AUTH_SOCK>"'], {
          env: { SSH_AUTH_SOCK: agent },
        });
        assertEqual('SSH_AUTH_SOCK', stdout.toString(), '<>\n');
      });
    },
  },
  {
    name: 'agent forwarding: ssh from the session to another host signs with the key of the client machine',
    run: async (client) => {
      await client.requireRemotePrograms('ssh');
      await withAgent(client, async (agent) => {
        const { host, port } = client.target;
        const onwards = `ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p ${port} ${client.destination} echo onwards`;
        const { stdout } = assertSuccess(
          `ssh from the session to ${host}`,
          await client.ssh(['-A', onwards], { env: { SSH_AUTH_SOCK: agent } }),
        );
        assertEqual('stdout', stdout.toString(), 'onwards\n');
      });
    },
  },
  x11Case('-X'),
  x11Case('-Y'),
  {
    name: 'VS Code: a bootstrap script on stdin of bash starts a server, which is reached through SOCKS',
    run: async (client) => {
      await client.requireRemotePrograms('python3', 'bash', 'nohup');
      const socks = await freePort();
      // The arguments of the extension. The script ends; the session lasts as long as stdin is open.
      const sshArgs = ['-T', '-D', String(socks), '-o', 'ConnectTimeout=15', 'bash'];
      const session = BackgroundClient.ssh(client, sshArgs);
      try {
        session.write(bootstrap(client));
        const [, port = ''] = await session.waitForOutput(/listeningOn==(\d+)==/);
        await session.waitForOutput(/f00d: end\n/);
        const proxy = ['-sS', '--socks5-hostname', `127.0.0.1:${socks}`];
        const ask = () =>
          client.localOutput('curl', [...proxy, `http://127.0.0.1:${port}/version`]);
        const version = await waitFor({ what: 'the server', timeoutMs: 10_000 }, ask);
        assertEqual('version', version, 'f00dcafe');
        session.write('echo "still here: $(cat ~/' + client.remoteDirectory + '/server.pid)"\n');
        await session.waitForOutput(/still here: \d+/);
        assertEqual('version', await ask(), 'f00dcafe');
      } finally {
        // Without a container the server outlives the session.
        session.write(`kill "$(cat ~/${client.remoteDirectory}/server.pid)"; echo en''ded\n`);
        await session.waitForOutput(/ended\n/, 5000).catch(() => undefined);
        await session.terminate();
      }
    },
    programs: { curl: 'curl' },
  },
];

/** X11 forwarding; some tests run this case alone. */
export function x11Case(option: '-X' | '-Y'): Case {
  return {
    name: `X11 with ${option}: xdpyinfo in the session connects to the client's display`,
    programs: { Xvfb: 'xvfb', xauth: 'xauth', xdpyinfo: 'x11-utils' },
    run: async (client) => {
      await client.requireRemotePrograms('xdpyinfo', 'xauth');
      // Xvfb chooses the display number. It accepts its own entry whatever display the entry names.
      const cookie = randomBytes(16).toString('hex');
      const [own, authority] = [client.localPath('Xvfb.auth'), client.localPath('Xauthority')];
      await client.localOutput('xauth', ['-q', '-f', own, 'add', ':0', '.', cookie]);
      const server = BackgroundClient.start(client, [
        'Xvfb',
        '-displayfd',
        '1',
        '-screen',
        '0',
        '800x600x24',
        '-nolisten',
        'tcp',
        '-auth',
        own,
      ]);
      try {
        const [, number = ''] = await server.waitForOutput(/^(\d+)\n/);
        const env = { DISPLAY: `:${number}`, XAUTHORITY: authority };
        await client.localOutput('xauth', [
          '-q',
          '-f',
          authority,
          'add',
          `:${number}`,
          '.',
          cookie,
        ]);
        assertSuccess(
          'xdpyinfo on the client machine',
          await client.runLocal('xdpyinfo', [], { env }),
        );
        const { stdout } = assertSuccess(
          'xdpyinfo',
          await client.ssh([option, 'xdpyinfo'], { env }),
        );
        assertMatches('xdpyinfo', stdout.toString(), /dimensions: +800x600 pixels/);
        const without = await client.ssh(['-x', 'echo "<$DISPLAY>"'], { env });
        assertEqual('DISPLAY without X11', without.stdout.toString(), '<>\n');
      } finally {
        await server.terminate();
      }
    },
  };
}

async function withAgent(client: Client, work: (socket: string) => Promise<void>): Promise<void> {
  const socket = client.localPath('agent.sock');
  const agent = BackgroundClient.start(client, ['ssh-agent', '-D', '-a', socket]);
  try {
    const env = { SSH_AUTH_SOCK: socket };
    await waitFor({ what: 'the agent', timeoutMs: 10_000 }, async () => {
      const { exitCode } = await client.runLocal('ssh-add', ['-q', client.localPath('key')], {
        env,
      });
      return exitCode === 0 ? true : undefined;
    });
    await work(socket);
  } finally {
    await agent.terminate();
    await client.runLocal('rm', ['-f', socket]);
  }
}

/**
 * A short form of the script that VS Code's extension writes to the shell: it takes a lock by link(2),
 * starts a server on a free loopback port with nohup, polls the server's log for the port, and prints
 * marked lines. The server is a stand-in, since Microsoft's is not free software.
 */
function bootstrap({ remoteDirectory: remote }: Client): string {
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
