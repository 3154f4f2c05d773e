import type { ClientOptions, ClientResult } from '../rig/node/client.ts';
import { same, succeeded, type Case } from './case.ts';
import type { Client } from './client.ts';

type Ssh = (args: readonly string[], options?: ClientOptions) => Promise<ClientResult>;

/** Runs work over one connection, with a session for each command (ControlMaster). */
export async function throughOneConnection(
  client: Client,
  work: (ssh: Ssh, control: readonly string[]) => Promise<void>,
): Promise<void> {
  const control = ['-o', `ControlPath=${client.path('mux')}`];
  // With ControlPersist the master closes our pipes; after 60 s it ends even if the test is killed.
  const persist = ['-o', 'ControlMaster=yes', '-o', 'ControlPersist=60', 'true'];
  succeeded('the master', await client.ssh([...control, ...persist]));
  try {
    await work((args, options) => client.ssh([...control, ...args], options), control);
  } finally {
    await client.ssh([...control, '-O', 'exit']);
  }
}

/** Several sessions in one connection, and connections through the host to another one. */
export const multiplexing: readonly Case[] = [
  {
    name: 'ten sessions at once in one connection, each with its own bytes and exit code',
    run: (client) =>
      throughOneConnection(client, async (ssh) => {
        const numbers = Array.from({ length: 10 }, (_, number) => number);
        const results = await Promise.all(
          numbers.map((number) => ssh([`cat; exit ${number}`], { input: `input ${number}` })),
        );
        same(
          'results',
          results.map(({ exitCode, stdout }) => `${exitCode} ${stdout.toString()}`),
          numbers.map((number) => `${number} input ${number}`),
        );
      }),
  },
  {
    name: 'sftp and a terminal beside a session that is still running, in one connection',
    run: (client) =>
      throughOneConnection(client, async (ssh, control) => {
        const long = ssh(['sleep 1; echo long'], {});
        const batch = await client.keep('batch', `ls ${client.remote}\n`);
        const port = ['-P', String(client.target.port)];
        const words = [...client.options, ...control, ...port, '-b', batch, client.destination];
        succeeded('sftp', await client.run('sftp', words));
        same('tty', (await ssh(['-tt', 'test -t 0'])).exitCode, 0);
        same('long', (await long).stdout.toString(), 'long\n');
      }),
  },
  {
    name: 'ssh -J through it',
    run: async (client) => {
      const { host, port } = client.target;
      // The jump is a connection of its own, which does not get these options.
      const jump = `ssh ${client.options.join(' ')} -p ${port} -W ${host}:${port} ${client.destination}`;
      const { stdout } = succeeded(
        'ssh',
        await client.ssh(['-o', `ProxyCommand=${jump}`, 'cat'], { input: 'jumped' }),
      );
      same('stdout', stdout.toString(), 'jumped');
    },
  },
  {
    name: 'ssh -J with a configuration file',
    run: async (client) => {
      const { host, port, user } = client.target;
      const config = await client.keep(
        'config',
        [
          'Host *',
          `  HostName ${host}`,
          `  Port ${port}`,
          `  User ${user}`,
          `  IdentityFile ${client.path('key')}`,
          '  IdentitiesOnly yes',
          '  BatchMode yes',
          `  UserKnownHostsFile ${client.path('.ssh/known_hosts')}`,
          '',
        ].join('\n'),
      );
      const result = await client.run('ssh', [
        '-F',
        config,
        '-J',
        'first',
        'second',
        'echo "$USER"',
      ]);
      same('stdout', succeeded('ssh', result).stdout.toString(), `${user}\n`);
    },
  },
];
