import type { Case } from '../case.ts';
import { assertEqual, Skip } from '../expect.ts';
import type { Client } from '../client.ts';
import { withPrompt } from './interactive.ts';

/** The startup files of shells, and the message of the day. */
export const loginShell: readonly Case[] = [
  {
    name: 'an interactive shell is a login shell and reads the profile',
    run: (client) =>
      withFirstLine(client, '.profile', 'export FROM_PROFILE=yes', () =>
        withPrompt(client, async (terminal) => {
          // The shell is started as `-bash` or with -l; both make it a login shell.
          terminal.type('echo "<$FROM_PROFILE>"; shopt login_shell\r');
          await terminal.waitForText(/\n<yes>\r\nlogin_shell\s+on\r/);
        }),
      ),
  },
  {
    name: 'a command runs in a non-login shell; bash reads .bashrc',
    run: (client) =>
      withFirstLine(client, '.profile', 'export FROM_PROFILE=yes', () =>
        withFirstLine(client, '.bashrc', 'export FROM_BASHRC=yes', async () => {
          const text = await client.remoteOutput(
            'echo "<$FROM_PROFILE><$FROM_BASHRC>"; shopt login_shell; true',
          );
          assertEqual('text', text.replaceAll(/\s+/g, ' '), '<><yes> login_shell off ');
        }),
      ),
  },
  {
    name: 'with neither command nor terminal a login shell runs on pipes, and its exit code reaches the client',
    run: (client) =>
      withFirstLine(client, '.profile', 'export FROM_PROFILE=yes', async () => {
        const input = 'echo "<$FROM_PROFILE>"; tty; echo err >&2; exit 3\n';
        const { exitCode, stdout, stderr } = await client.ssh(['-T'], { input });
        assertEqual('stdout', stdout.toString().split('\n').slice(-3), ['<yes>', 'not a tty', '']);
        assertEqual('stderr', stderr, 'err\n');
        assertEqual('exit code', exitCode, 3);
      }),
  },
  {
    name: 'a shell on pipes ends at the end of its input, and a command in it can read the rest of the input',
    run: async (client) => {
      const { stdout } = await client.ssh(['-T'], { input: 'cat\nfirst\nsecond\n' });
      assertEqual('stdout', stdout.toString().split('\n').slice(-3), ['first', 'second', '']);
    },
  },
  {
    name: 'the message of the day is shown once',
    run: async (client) => {
      const line = await lineOfMotd(client);
      await withPrompt(client, (terminal) => {
        assertEqual('times', terminal.text.split(line).length - 1, 1);
        return Promise.resolve();
      });
    },
  },
  {
    name: 'with ~/.hushlogin the message of the day is not shown',
    run: async (client) => {
      const line = await lineOfMotd(client);
      await client.remoteOutput('touch .hushlogin');
      try {
        await withPrompt(client, (terminal) => {
          assertEqual('times', terminal.text.split(line).length - 1, 0);
          return Promise.resolve();
        });
      } finally {
        await client.remoteOutput('rm -f .hushlogin');
      }
    },
  },
];

async function lineOfMotd(client: Client): Promise<string> {
  const { motd } = client.target;
  if (motd === undefined) throw new Skip('no line of the message of the day is given: --motd TEXT');
  if ((await client.ssh(['test -e .hushlogin'])).exitCode === 0)
    throw new Skip('the user has a file ~/.hushlogin');
  return motd;
}

/** Runs `work` while `line` is the first line of a file in the remote home. */
async function withFirstLine(
  client: Client,
  file: string,
  line: string,
  work: () => Promise<void>,
): Promise<void> {
  await client.restoring(file, async () => {
    const copy = `${client.remoteDirectory}/copy`;
    await client.remoteOutput(
      `touch ${file} && cat ${file} >${copy} && { echo '${line}'; cat ${copy}; } >${file}`,
    );
    await work();
  });
}
