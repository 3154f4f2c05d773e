import { randomBytes } from 'node:crypto';
import { BackgroundClient } from '../background-client.ts';
import type { Case } from '../case.ts';
import { assertMatches, assertEqual, assertSuccess } from '../expect.ts';

/** `ssh host COMMAND`: input, output and environment of a command, as with a plain sshd. */
export const commands: readonly Case[] = [
  {
    name: 'stdout and stderr carry exactly the bytes that the command writes',
    run: async (client) => {
      const { exitCode, stdout, stderr } = await client.ssh([
        String.raw`printf 'out\0\377\r\n'; printf 'err\n' >&2`,
      ]);
      assertEqual('exit code', exitCode, 0);
      assertEqual(
        'stdout',
        stdout.toString('hex'),
        Buffer.from('out\0\xff\r\n', 'latin1').toString('hex'),
      );
      assertEqual('stderr', stderr, 'err\n');
    },
  },
  {
    name: 'a command without output leaves stdout and stderr empty',
    run: async (client) => {
      const { stdout, stderr } = await client.ssh(['true']);
      assertEqual('output', stdout.toString() + stderr, '');
    },
  },
  {
    name: 'output arrives at once, whatever byte it ends with',
    run: async (client) => {
      const session = BackgroundClient.ssh(client, ['cat']);
      try {
        for (let code = 0; code < 128; code += 1) {
          session.write(String.fromCharCode(code));
          await session.waitForOutput(new RegExp(`^[^]{${code + 1}}$`), 10_000);
        }
      } finally {
        await session.terminate();
      }
    },
  },
  {
    name: '10 MB of binary data pass through cat unchanged',
    run: async (client) => {
      const input = randomBytes(10_000_000);
      const { stdout } = assertSuccess('cat', await client.ssh(['cat'], { input }));
      assertEqual('the same bytes come back', stdout.equals(input), true);
    },
  },
  {
    name: '10 MB on stdout and 10 MB on stderr at the same time arrive complete',
    run: async (client) => {
      const { stdout, stderr } = await client.ssh([
        'head -c 10000000 /dev/zero | tr "\\0" o & head -c 10000000 /dev/zero | tr "\\0" e >&2; wait',
      ]);
      assertEqual(
        'bytes of stdout and stderr',
        [stdout.length, stderr.length],
        [10_000_000, 10_000_000],
      );
    },
  },
  {
    name: 'half-close: the command reads the end of stdin and can still write',
    run: async (client) => {
      const { stdout } = await client.ssh(['cat; sleep 0.3; echo after the end'], { input: 'x\n' });
      assertEqual('stdout', stdout.toString(), 'x\nafter the end\n');
    },
  },
  {
    name: 'half-close: the command closes stdout and can still read',
    run: async (client) => {
      const file = `${client.remoteDirectory}/half-close`;
      const input = randomBytes(2_000_000);
      assertSuccess('ssh', await client.ssh([`exec >&- 2>&-; sleep 0.3; cat >${file}`], { input }));
      assertEqual(
        'bytes of the remote file',
        (await client.remoteOutput(`wc -c <${file}`)).trim(),
        '2000000',
      );
    },
  },
  {
    name: 'a command that does not read its stdin ends without delay',
    run: async (client) => {
      // A server that waits until all input is read would never end: the client is then killed.
      const input = Buffer.alloc(5_000_000, 'a');
      const { stdout } = assertSuccess('head', await client.ssh(['head -c 3'], { input }));
      assertEqual('stdout', stdout.toString(), 'aaa');
    },
  },
  {
    name: 'SIGPIPE kills a writer after its reader has ended',
    run: async (client) => {
      const { stdout } = await client.ssh(['yes | head -n 1; echo "${PIPESTATUS[0]}"']);
      assertEqual('stdout', stdout.toString(), 'y\n141\n');
    },
  },
  {
    name: 'with -n the command gets an empty stdin',
    run: async (client) => {
      const { stdout } = await client.ssh(['-n', 'cat; echo end']);
      assertEqual('stdout', stdout.toString(), 'end\n');
    },
  },
  {
    name: 'the shell gets the command as one string: quotes, newlines, $, a leading -',
    run: async (client) => {
      const { stdout } = await client.ssh([
        'a="1  2"\nprintf "%s|" "$a" \'$HOME\' `echo b` "x\ty"\necho; -nothing 2>/dev/null; echo $?',
      ]);
      assertEqual('stdout', stdout.toString(), '1  2|$HOME|b|x\ty|\n127\n');
      // A plain sshd passes `-e` to the user's shell, which takes it as an option. No other program may.
      const dash = await client.ssh(['--', '-e']);
      assertEqual('-e', [dash.exitCode === 0, dash.stdout.toString()], [false, '']);
    },
  },
  {
    name: 'bytes that are not UTF-8 reach the command unchanged',
    run: async (client) => {
      const script = await client.writeLocal(
        'latin1.sh',
        Buffer.from(`exec "$@" "printf '\xe9\xff'"\n`, 'latin1'),
      );
      const { stdout } = await client.runLocal('sh', [script, ...client.sshArgv]);
      assertEqual('stdout', stdout.toString('hex'), 'e9ff');
    },
  },
  {
    name: 'a command line of 100 KB arrives complete',
    run: async (client) => {
      const { stdout, stderr } = await client.ssh([`x='${'y'.repeat(100_000)}'; echo "\${#x}"`]);
      assertEqual('output', stdout.toString() + stderr, '100000\n');
    },
  },
  {
    name: 'the command runs in the home directory, with HOME, USER, LOGNAME, SHELL, PATH and SSH_CONNECTION',
    run: async (client) => {
      const text = await client.remoteOutput(
        '[ "$PWD" -ef ~ ] && [ "$HOME" -ef . ] && echo "$USER $LOGNAME $(id -un)"; "$SHELL" -c "echo shell"; echo "${PATH:+path} $SSH_CONNECTION $SSH_CLIENT"',
      );
      const { user } = client.target;
      const address = '[0-9a-f.:]+';
      assertMatches(
        'text',
        text,
        new RegExp(
          `^${user} ${user} ${user}\nshell\npath ${address} \\d+ ${address} \\d+ ${address} \\d+ \\d+\n$`,
        ),
      );
    },
  },
  {
    name: 'LC_* variables of the client are set in the session if sshd accepts them',
    run: async (client) => {
      const { stdout } = await client.ssh(
        ['-o', 'SendEnv=LC_CONFORMANCE', '-o', 'SendEnv=LANG', 'echo "$LC_CONFORMANCE"'],
        { env: { LC_CONFORMANCE: 'été' } },
      );
      assertEqual('stdout', stdout.toString(), 'été\n');
    },
  },
  {
    name: 'without -t there is no terminal',
    run: async (client) => {
      const { stdout } = await client.ssh([
        'tty; test -t 0 || test -t 1 || test -t 2 || echo none',
      ]);
      assertEqual('stdout', stdout.toString(), 'not a tty\nnone\n');
    },
  },
  {
    name: 'a background process with redirected stdin, stdout and stderr does not keep the connection open',
    run: async (client) => {
      const timeout = 60_000;
      const command = `sleep ${(2 * timeout) / 1000} </dev/null >/dev/null 2>&1 & echo started $!`;
      const { stdout } = assertSuccess('the shell', await client.ssh([command], { timeout }));
      assertMatches('stdout', stdout.toString(), /^started \d+\n$/);
      // Without a container it is still there.
      const [, pid = ''] = stdout.toString().trim().split(' ');
      await client.ssh([`grep -qx sleep /proc/${pid}/comm 2>/dev/null && kill ${pid}`]);
    },
  },
];
