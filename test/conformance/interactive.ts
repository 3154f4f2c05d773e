import { matches, same, type Case } from './case.ts';
import type { Client } from './client.ts';
import { Terminal } from './terminal.ts';

/** Runs work in an interactive shell with a known prompt. */
export async function atPrompt(
  client: Client,
  work: (terminal: Terminal) => Promise<void>,
  size?: { rows: number; columns: number },
): Promise<void> {
  const terminal = Terminal.open(client, client.sshWords, size);
  try {
    await terminal.shows(/[$#%>] $/);
    // In two parts, so that the echo of the input does not look like the prompt.
    terminal.type("PS1='rea''dy> '\r");
    await terminal.shows(/\nready> /);
    await work(terminal);
  } finally {
    terminal.close();
  }
}

/** `ssh host`: a login shell on a terminal. */
export const interactive: readonly Case[] = [
  {
    name: 'a prompt, an echo, a result, and the exit code of the shell',
    run: (client) =>
      atPrompt(client, async (terminal) => {
        terminal.type('echo $((40+2))\r');
        await terminal.shows(/echo \$\(\(40\+2\)\)\r\n42\r\nready> /);
        terminal.type('exit 7\r');
        same('exit code', await terminal.ended(), 7);
      }),
  },
  {
    name: 'the size of the window, before and after a resize',
    run: (client) =>
      atPrompt(
        client,
        async (terminal) => {
          terminal.type('stty size\r');
          await terminal.shows(/\n33 101\r/);
          // A running program gets SIGWINCH.
          terminal.type(
            `sh -c 'trap "stty size; exit" WINCH; echo wait''ing; while :; do sleep 0.1; done'\r`,
          );
          await terminal.shows(/\nwaiting\r/);
          await terminal.resize(44, 132);
          await terminal.shows(/\n44 132\r/);
          await terminal.resize(20, 70);
          // With pods, size and input are separate streams, so one may overtake the other.
          terminal.type(
            `\rfor i in 1 2 3 4 5 6 7 8 9; do case $(stty size) in 44*) sleep 0.1;; esac; done; stty size\r`,
          );
          await terminal.shows(/\n20 70\r/);
        },
        { rows: 33, columns: 101 },
      ),
  },
  {
    name: 'TERM is that of the client',
    run: (client) =>
      atPrompt(client, async (terminal) => {
        terminal.type('echo "<$TERM>"; tty\r');
        await terminal.shows(/\n<xterm-256color>\r\n\/dev\/pts\/\d+\r/);
      }),
  },
  {
    name: 'job control: ^Z, jobs, bg, fg, ^C',
    run: (client) =>
      atPrompt(client, async (terminal) => {
        terminal.type('sleep 77\r');
        await terminal.shows(/sleep 77\r\n/);
        await typedUntil(terminal, '\x1a', /Stopped\s+sleep 77[^]*ready> /);
        terminal.type('jobs\r');
        await terminal.shows(/\[1\]\+\s+Stopped\s+sleep 77[^]*ready> /);
        terminal.type('bg\r');
        await terminal.shows(/\[1\]\+ sleep 77 &[^]*ready> /);
        terminal.type('fg\r');
        await terminal.shows(/\nsleep 77\r\n/);
        await typedUntil(terminal, '\x03', /\^C[^]*ready> /);
        terminal.type('echo "<$?>"\r');
        await terminal.shows(/\n<130>\r/);
        same('complaints', /job control|process group/.exec(terminal.text), null);
      }),
  },
  {
    name: '^D ends the shell, with the exit code of the last command',
    run: (client) =>
      atPrompt(client, async (terminal) => {
        terminal.type('(exit 5)\r');
        await terminal.shows(/ready> /);
        terminal.type('\x04');
        same('exit code', await terminal.ended(), 5);
      }),
  },
  {
    name: '~. of the client ends the connection',
    run: (client) =>
      atPrompt(client, async (terminal) => {
        terminal.type('\r~.');
        same('exit code', await terminal.ended(), 255);
      }),
  },
  {
    name: 'UTF-8 that is typed is echoed',
    run: (client) =>
      atPrompt(client, async (terminal) => {
        terminal.type("printf '<%s>\\n' 'é語'\r");
        await terminal.shows(/\n<é語>\r/);
      }),
  },
  {
    name: '100,000 lines on the terminal arrive complete',
    run: async (client) => {
      const { stdout, exitCode } = await client.ssh(['-tt', 'seq 1 100000']);
      const lines = stdout.toString().split('\r\n');
      same('exit code', exitCode, 0);
      same('lines', [lines.length, lines[0], lines[99_999]], [100_001, '1', '100000']);
    },
  },
  {
    name: '-t gives a command a terminal, and its exit code comes back',
    run: async (client) => {
      const words = [...client.sshWords, '-t', 'test -t 0 && test -t 1 && stty size; exit 9'];
      const terminal = Terminal.open(client, words, { rows: 31, columns: 99 });
      try {
        await terminal.shows(/31 99\r\n/);
        same('exit code', await terminal.ended(), 9);
        matches('text', terminal.text, /^31 99\r\nConnection to \S+ closed\.[\r\n]+$/);
      } finally {
        terminal.close();
      }
    },
  },
  {
    name: 'a full-screen program: tmux opens, splits, detaches',
    run: async (client) => {
      await client.needsRemote('tmux');
      await atPrompt(client, async (terminal) => {
        terminal.type('tmux -L conformance -f /dev/null\r');
        await terminal.shows(/\[0\] 0:/);
        terminal.type("echo in''-tmux\r");
        await terminal.shows(/in-tmux/);
        terminal.type('\x02d');
        await terminal.shows(/\[detached[^]*ready> /);
        terminal.type('tmux -L conformance kill-server; echo "<$?>"\r');
        await terminal.shows(/\n<0>\r/);
      });
    },
  },
];

/** Repeats a key: it may arrive before the program controls the terminal. */
async function typedUntil(terminal: Terminal, key: string, pattern: RegExp): Promise<void> {
  for (let tries = 0; tries < 3; tries += 1) {
    terminal.type(key);
    const shown = await terminal.shows(pattern, 2000).catch(() => undefined);
    if (shown !== undefined) return;
  }
  terminal.type(key);
  await terminal.shows(pattern);
}
