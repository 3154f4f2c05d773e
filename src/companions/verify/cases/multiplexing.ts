import type { ClientOptions, ClientResult } from '../run-client.ts';
import type { Case } from '../case.ts';
import { assertEqual, assertSuccess } from '../expect.ts';
import type { Client } from '../client.ts';

type Ssh = (args: readonly string[], options?: ClientOptions) => Promise<ClientResult>;

/** Runs `work` with one connection that its ssh commands share (ControlMaster). */
export async function withSharedConnection(
  client: Client,
  work: (ssh: Ssh, control: readonly string[]) => Promise<void>,
): Promise<void> {
  const control = ['-o', `ControlPath=${client.localPath('mux')}`];
  // With ControlPersist the master closes our pipes. If we are killed, it exits after 60 s.
  const persist = ['-o', 'ControlMaster=yes', '-o', 'ControlPersist=60', 'true'];
  assertSuccess('the master', await client.ssh([...control, ...persist]));
  try {
    await work((args, options) => client.ssh([...control, ...args], options), control);
  } finally {
    await client.ssh([...control, '-O', 'exit']);
  }
}

/** Several sessions in one connection, and the host as a jump host. */
export const multiplexing: readonly Case[] = [
  {
    name: 'ten concurrent sessions in one connection, each with its own output and exit code',
    run: (client) =>
      withSharedConnection(client, async (ssh) => {
        const numbers = Array.from({ length: 10 }, (_, number) => number);
        const results = await Promise.all(
          numbers.map((number) => ssh([`cat; exit ${number}`], { input: `input ${number}` })),
        );
        assertEqual(
          'results',
          results.map(({ exitCode, stdout }) => `${exitCode} ${stdout.toString()}`),
          numbers.map((number) => `${number} input ${number}`),
        );
      }),
  },
  {
    name: 'sftp and a terminal session in the connection of a session that is still running',
    run: (client) =>
      withSharedConnection(client, async (ssh, control) => {
        const long = ssh(['sleep 1; echo long'], {});
        const batch = await client.writeLocal('batch', `ls ${client.remoteDirectory}\n`);
        const port = ['-P', String(client.target.port)];
        const sftpArgs = [
          ...client.sshOptions,
          ...control,
          ...port,
          '-b',
          batch,
          client.destination,
        ];
        assertSuccess('sftp', await client.runLocal('sftp', sftpArgs));
        assertEqual('tty', (await ssh(['-tt', 'test -t 0'])).exitCode, 0);
        assertEqual('long', (await long).stdout.toString(), 'long\n');
      }),
  },
  {
    name: 'the host as a jump host (ProxyCommand with -W)',
    run: async (client) => {
      const { host, port } = client.target;
      // The connection to the jump host does not inherit our options.
      const jump = `ssh ${client.sshOptions.join(' ')} -p ${port} -W ${host}:${port} ${client.destination}`;
      const { stdout } = assertSuccess(
        'ssh',
        await client.ssh(['-o', `ProxyCommand=${jump}`, 'cat'], { input: 'jumped' }),
      );
      assertEqual('stdout', stdout.toString(), 'jumped');
    },
  },
  {
    name: 'the host as a jump host (-J with a configuration file)',
    run: async (client) => {
      const { host, port, user } = client.target;
      const config = await client.writeLocal(
        'config',
        [
          'Host *',
          `  HostName ${host}`,
          `  Port ${port}`,
          `  User ${user}`,
          `  IdentityFile ${client.localPath('key')}`,
          '  IdentitiesOnly yes',
          '  BatchMode yes',
          `  UserKnownHostsFile ${client.localPath('.ssh/known_hosts')}`,
          '',
        ].join('\n'),
      );
      const result = await client.runLocal('ssh', [
        '-F',
        config,
        '-J',
        'first',
        'second',
        'echo "$USER"',
      ]);
      assertEqual('stdout', assertSuccess('ssh', result).stdout.toString(), `${user}\n`);
    },
  },
];
