import { same, succeeded, Skip, type Case } from './case.ts';
import type { Client } from './client.ts';
import { atPrompt } from './interactive.ts';

/** What a shell reads and prints at its start. */
export const loginShell: readonly Case[] = [
  {
    name: 'an interactive shell is a login shell and reads the profile',
    run: (client) =>
      withFirstLine(client, '.profile', 'export FROM_PROFILE=yes', () =>
        atPrompt(client, async (terminal) => {
          // A login shell is started as `-bash` or with -l.
          terminal.type('echo "<$FROM_PROFILE>"; shopt login_shell\r');
          await terminal.shows(/\n<yes>\r\nlogin_shell\s+on\r/);
        }),
      ),
  },
  {
    name: 'a single command gets no login shell; bash reads .bashrc for sshd',
    run: (client) =>
      withFirstLine(client, '.profile', 'export FROM_PROFILE=yes', () =>
        withFirstLine(client, '.bashrc', 'export FROM_BASHRC=yes', async () => {
          const text = await client.output(
            'echo "<$FROM_PROFILE><$FROM_BASHRC>"; shopt login_shell; true',
          );
          same('text', text.replaceAll(/\s+/g, ' '), '<><yes> login_shell off ');
        }),
      ),
  },
  {
    name: 'no command and no terminal: a login shell on pipes, with its exit code',
    run: (client) =>
      withFirstLine(client, '.profile', 'export FROM_PROFILE=yes', async () => {
        const input = 'echo "<$FROM_PROFILE>"; tty; echo err >&2; exit 3\n';
        const { exitCode, stdout, stderr } = await client.ssh(['-T'], { input });
        same('stdout', stdout.toString().split('\n').slice(-3), ['<yes>', 'not a tty', '']);
        same('stderr', stderr, 'err\n');
        same('exit code', exitCode, 3);
      }),
  },
  {
    name: 'a shell on pipes ends with its input, and a command that it runs can read the rest',
    run: async (client) => {
      const { stdout } = await client.ssh(['-T'], { input: 'cat\nfirst\nsecond\n' });
      same('stdout', stdout.toString().split('\n').slice(-3), ['first', 'second', '']);
    },
  },
  {
    name: 'the message of the day is shown once',
    run: async (client) => {
      const line = await lineOfMotd(client);
      await atPrompt(client, (terminal) => {
        same('times', terminal.text.split(line).length - 1, 1);
        return Promise.resolve();
      });
    },
  },
  {
    name: 'no message of the day with ~/.hushlogin',
    run: async (client) => {
      const line = await lineOfMotd(client);
      await client.output('touch .hushlogin');
      try {
        await atPrompt(client, (terminal) => {
          same('times', terminal.text.split(line).length - 1, 0);
          return Promise.resolve();
        });
      } finally {
        await client.output('rm -f .hushlogin');
      }
    },
  },
];

async function lineOfMotd(client: Client): Promise<string> {
  if (client.target.motd !== undefined) return client.target.motd;
  const text = await client.output('cat /etc/motd 2>/dev/null; true');
  const line = text.split('\n').find((each) => each.trim() !== '');
  if (line === undefined) throw new Skip('there is no message of the day');
  return line.trim();
}

/** Runs work while a file in the home starts with an additional line. */
async function withFirstLine(
  client: Client,
  file: string,
  line: string,
  work: () => Promise<void>,
): Promise<void> {
  const kept = `${client.remote}/kept${file}`;
  await client.output(
    `touch ${file} && cp -p ${file} ${kept} && { echo '${line}'; cat ${kept}; } >${file}`,
  );
  try {
    await work();
  } finally {
    succeeded('mv', await client.ssh([`cat ${kept} >${file}`]));
  }
}
