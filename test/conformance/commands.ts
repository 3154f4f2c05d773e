import { randomBytes } from 'node:crypto';
import { Background } from './background-client.ts';
import { matches, same, succeeded, type Case } from './case.ts';

/** `ssh host COMMAND`: input and output have the same bytes, in the same order, as with plain sshd. */
export const commands: readonly Case[] = [
  {
    name: 'stdout and stderr have exactly the bytes of the command',
    run: async (client) => {
      const { exitCode, stdout, stderr } = await client.ssh([
        String.raw`printf 'out\0\377\r\n'; printf 'err\n' >&2`,
      ]);
      same('exit code', exitCode, 0);
      same(
        'stdout',
        stdout.toString('hex'),
        Buffer.from('out\0\xff\r\n', 'latin1').toString('hex'),
      );
      same('stderr', stderr, 'err\n');
    },
  },
  {
    name: 'a command without output leaves stdout and stderr empty',
    run: async (client) => {
      const { stdout, stderr } = await client.ssh(['true']);
      same('output', stdout.toString() + stderr, '');
    },
  },
  {
    name: 'output arrives at once, whatever its last byte is',
    run: async (client) => {
      const session = Background.ssh(client, ['cat']);
      try {
        for (let code = 0; code < 128; code += 1) {
          session.write(String.fromCharCode(code));
          await session.shows(new RegExp(`^[^]{${code + 1}}$`), 10_000);
        }
      } finally {
        await session.end();
      }
    },
  },
  {
    name: '10 MB of binary stdin come back unchanged',
    run: async (client) => {
      const input = randomBytes(10_000_000);
      const { stdout } = succeeded('cat', await client.ssh(['cat'], { input }));
      same('equal', stdout.equals(input), true);
    },
  },
  {
    name: '20 MB on stderr and stdout at once arrive complete',
    run: async (client) => {
      const { stdout, stderr } = await client.ssh([
        'head -c 10000000 /dev/zero | tr "\\0" o & head -c 10000000 /dev/zero | tr "\\0" e >&2; wait',
      ]);
      same('bytes', [stdout.length, stderr.length], [10_000_000, 10_000_000]);
    },
  },
  {
    name: 'half-close: the command sees the end of stdin and can still write',
    run: async (client) => {
      const { stdout } = await client.ssh(['cat; sleep 0.3; echo after the end'], { input: 'x\n' });
      same('stdout', stdout.toString(), 'x\nafter the end\n');
    },
  },
  {
    name: 'half-close: the command closes stdout and can still read',
    run: async (client) => {
      const file = `${client.remote}/half-close`;
      const input = randomBytes(2_000_000);
      succeeded('ssh', await client.ssh([`exec >&- 2>&-; sleep 0.3; cat >${file}`], { input }));
      same('bytes', (await client.output(`wc -c <${file}`)).trim(), '2000000');
    },
  },
  {
    name: 'a command that does not read its stdin ends at once',
    run: async (client) => {
      // A client that waits for its stdin to be read would hang, and is killed.
      const input = Buffer.alloc(5_000_000, 'a');
      const { stdout } = succeeded('head', await client.ssh(['head -c 3'], { input }));
      same('stdout', stdout.toString(), 'aaa');
    },
  },
  {
    name: 'a writer whose reader leaves dies of SIGPIPE',
    run: async (client) => {
      const { stdout } = await client.ssh(['yes | head -n 1; echo "${PIPESTATUS[0]}"']);
      same('stdout', stdout.toString(), 'y\n141\n');
    },
  },
  {
    name: 'stdin is not waited for with -n',
    run: async (client) => {
      const { stdout } = await client.ssh(['-n', 'cat; echo end']);
      same('stdout', stdout.toString(), 'end\n');
    },
  },
  {
    name: 'the command is one string for the shell: quotes, newlines, $, globs, a leading -',
    run: async (client) => {
      const { stdout } = await client.ssh([
        'a="1  2"\nprintf "%s|" "$a" \'$HOME\' `echo b` "x\ty"\necho; -nothing 2>/dev/null; echo $?',
      ]);
      same('stdout', stdout.toString(), '1  2|$HOME|b|x\ty|\n127\n');
      // Plain sshd passes it to the user's shell as an option. No other program may take it as one.
      const dash = await client.ssh(['--', '-e']);
      same('-e', [dash.exitCode === 0, dash.stdout.toString()], [false, '']);
    },
  },
  {
    name: 'bytes that are not UTF-8 reach the command unchanged',
    run: async (client) => {
      const script = await client.keep(
        'latin1.sh',
        Buffer.from(`exec "$@" "printf '\xe9\xff'"\n`, 'latin1'),
      );
      const { stdout } = await client.run('sh', [script, ...client.sshWords]);
      same('stdout', stdout.toString('hex'), 'e9ff');
    },
  },
  {
    name: 'a command of 100 KB arrives complete',
    run: async (client) => {
      const { stdout, stderr } = await client.ssh([`x='${'y'.repeat(100_000)}'; echo "\${#x}"`]);
      same('output', stdout.toString() + stderr, '100000\n');
    },
  },
  {
    name: 'the command runs in the home, with HOME, USER, LOGNAME, SHELL, PATH and SSH_CONNECTION',
    run: async (client) => {
      const text = await client.output(
        '[ "$PWD" -ef ~ ] && [ "$HOME" -ef . ] && echo "$USER $LOGNAME $(id -un)"; "$SHELL" -c "echo shell"; echo "${PATH:+path} $SSH_CONNECTION $SSH_CLIENT"',
      );
      const { user } = client.target;
      const address = '[0-9a-f.:]+';
      matches(
        'text',
        text,
        new RegExp(
          `^${user} ${user} ${user}\nshell\npath ${address} \\d+ ${address} \\d+ ${address} \\d+ \\d+\n$`,
        ),
      );
    },
  },
  {
    name: 'LANG and LC_* of the client arrive, where sshd accepts them',
    run: async (client) => {
      const { stdout } = await client.ssh(
        ['-o', 'SendEnv=LC_CONFORMANCE', '-o', 'SendEnv=LANG', 'echo "$LC_CONFORMANCE"'],
        { env: { LC_CONFORMANCE: 'été' } },
      );
      same('stdout', stdout.toString(), 'été\n');
    },
  },
  {
    name: 'there is no terminal without -t',
    run: async (client) => {
      const { stdout } = await client.ssh([
        'tty; test -t 0 || test -t 1 || test -t 2 || echo none',
      ]);
      same('stdout', stdout.toString(), 'not a tty\nnone\n');
    },
  },
  {
    name: 'a background process that keeps no pipe does not hold the connection',
    run: async (client) => {
      const timeout = 60_000;
      const command = `sleep ${(2 * timeout) / 1000} </dev/null >/dev/null 2>&1 & echo started`;
      const { stdout } = succeeded('the shell', await client.ssh([command], { timeout }));
      same('stdout', stdout.toString(), 'started\n');
    },
  },
];
