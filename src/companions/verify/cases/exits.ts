import type { Case } from '../case.ts';
import { assertEqual, assertSuccess, Skip } from '../expect.ts';
import type { Client } from '../client.ts';
import { withSharedConnection } from './multiplexing.ts';

/** Exit codes that shells, sysexits(3), podman, timeout(1) or ssh also use for their own errors. */
const ambiguousCodes = [0, 1, 2, 64, 69, 75, 77, 78, 124, 125, 126, 127, 128, 130, 137, 255];

const runtimeExitCode =
  'an OCI runtime exits with 128 + N both when signal N killed the command and when the command exited with 128 + N';
const noSignalName = {
  podman: runtimeExitCode,
  slurm: runtimeExitCode,
  pod: 'the shell around the command exits with 128 + N both when signal N killed it and when it exited with 128 + N',
};

const asyncSshPrograms = { '/usr/bin/python3': 'python3-asyncssh' };

/** Exit codes and signals. */
export const exits: readonly Case[] = [
  {
    name: 'exit codes that programs also use for their own errors reach the client',
    timeoutMs: 240_000,
    run: (client) =>
      withSharedConnection(client, async (ssh) => {
        const all = Array.from({ length: 256 }, (_, code) => code);
        const codes = client.target.everyExitCode === true ? all : [...ambiguousCodes];
        while (codes.length > 0) {
          const some = codes.splice(0, 16);
          const results = await Promise.all(some.map((code) => ssh([`exit ${code}`])));
          assertEqual(
            'exit codes',
            results.map(({ exitCode }) => exitCode),
            some,
          );
        }
      }),
  },
  {
    name: 'exit code 127 for a command that is not found, 126 for one that is not executable, with a message of the shell',
    run: async (client) => {
      const missing = await client.ssh(['/no/such/program']);
      assertEqual(
        'missing',
        [missing.exitCode, missing.stderr.includes('/no/such/program')],
        [127, true],
      );
      const closed = await client.ssh(['/etc/passwd']);
      assertEqual(
        'not executable',
        [closed.exitCode, closed.stderr.includes('/etc/passwd')],
        [126, true],
      );
    },
  },
  {
    name: 'the shell reports the signal that killed its child',
    run: async (client) => {
      const { exitCode, stderr } = await client.ssh(["sh -c 'kill -TERM $$'; exit $?"]);
      // The shell may print a message of its own.
      assertEqual(`exit code (${stderr.trim()})`, exitCode, 143);
    },
  },
  {
    name: 'a shell killed by a signal: the client exits with 255',
    known: noSignalName,
    run: async (client) => {
      for (const signal of ['TERM', 'KILL', 'HUP'])
        assertEqual(signal, (await client.ssh([`kill -${signal} $$`])).exitCode, 255);
    },
  },
  {
    name: 'the client receives the name of the signal (AsyncSSH)',
    known: noSignalName,
    programs: asyncSshPrograms,
    run: async (client) => {
      const output = await asyncSsh(client, [
        'for name in ("TERM", "KILL", "USR1"):',
        '    result = await connection.run("kill -" + name + " $$")',
        '    print(result.exit_signal[0] if result.exit_signal else result.exit_status)',
      ]);
      assertEqual('signals', output, 'TERM\nKILL\nUSR1\n');
    },
  },
  {
    name: 'signals sent by the client reach the command (AsyncSSH)',
    known: { forced: 'sshd does not deliver signals to a session with a forced command' },
    programs: asyncSshPrograms,
    run: async (client) => {
      const output = await asyncSsh(client, [
        'for name in ("TERM", "INT", "USR1"):',
        '    command = "trap \'echo got; exit 4\' " + name + "; echo ready; while :; do sleep 0.1; done"',
        '    process = await connection.create_process(command)',
        '    await process.stdout.readline()',
        '    process.send_signal(name)',
        '    rest = await asyncio.wait_for(process.wait(), 5)',
        '    print(name, rest.stdout.strip(), rest.exit_status)',
      ]);
      assertEqual('signals', output, 'TERM got 4\nINT got 4\nUSR1 got 4\n');
    },
  },
];

/** Runs lines of Python with an open AsyncSSH `connection`. @returns their stdout */
async function asyncSsh(client: Client, lines: readonly string[]): Promise<string> {
  const { host, port, user } = client.target;
  const args = [host, port, user, client.localPath('key'), client.localPath('.ssh/known_hosts')];
  const script = [
    'import asyncio, asyncssh, sys',
    'host, port, user, key, known = sys.argv[1:]',
    'async def main():',
    '    async with asyncssh.connect(host, int(port), username=user, client_keys=[key],',
    '            known_hosts=known, config=None, agent_path=None) as connection:',
    ...lines.map((line) => `        ${line}`),
    'asyncio.run(main())',
  ].join('\n');
  const result = await client.runLocal('/usr/bin/python3', ['-c', script, ...args.map(String)]);
  if (/ModuleNotFoundError.*asyncssh/.test(result.stderr))
    throw new Skip('this machine lacks AsyncSSH (Debian package python3-asyncssh)');
  return assertSuccess('AsyncSSH', result).stdout.toString();
}
