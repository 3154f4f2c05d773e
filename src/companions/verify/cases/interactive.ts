import type { Case } from '../case.ts';
import { assertMatches, assertEqual } from '../expect.ts';
import type { Client } from '../client.ts';
import { Terminal } from '../terminal.ts';

/** Opens an interactive shell, sets its prompt to `ready>`, and runs `work` with it. */
export async function withPrompt(
  client: Client,
  work: (terminal: Terminal) => Promise<void>,
  size?: { rows: number; columns: number },
): Promise<void> {
  const terminal = Terminal.open(client, client.sshArgv, size);
  try {
    await terminal.waitForText(/[$#%>] $/);
    // In two parts, so that the echo of the typed text does not match the prompt.
    terminal.type("unset HISTFILE; PS1='rea''dy> '\r");
    await terminal.waitForText(/\nready> /);
    await work(terminal);
  } finally {
    terminal.close();
  }
}

/** `ssh host`: an interactive shell on a terminal. */
export const interactive: readonly Case[] = [
  {
    name: 'the shell shows a prompt, echoes input, prints results and returns its exit code',
    run: (client) =>
      withPrompt(client, async (terminal) => {
        terminal.type('echo $((40+2))\r');
        await terminal.waitForText(/echo \$\(\(40\+2\)\)\r\n42\r\nready> /);
        terminal.type('exit 7\r');
        assertEqual('exit code', await terminal.waitForExit(), 7);
      }),
  },
  {
    name: 'the terminal has the size of the window, also after the window is resized',
    programs: { python3: 'python3' },
    run: (client) =>
      withPrompt(
        client,
        async (terminal) => {
          terminal.type('stty size\r');
          await terminal.waitForText(/\n33 101\r/);
          // A running program gets SIGWINCH.
          terminal.type(
            `sh -c 'trap "stty size; exit" WINCH; echo wait''ing; while :; do sleep 0.1; done'\r`,
          );
          await terminal.waitForText(/\nwaiting\r/);
          await terminal.resize(44, 132);
          await terminal.waitForText(/\n44 132\r/);
          await terminal.resize(20, 70);
          // With pods the size and the typed text are separate streams and can arrive in another order.
          terminal.type(
            `\rfor i in 1 2 3 4 5 6 7 8 9; do case $(stty size) in 44*) sleep 0.1;; esac; done; stty size\r`,
          );
          await terminal.waitForText(/\n20 70\r/);
        },
        { rows: 33, columns: 101 },
      ),
  },
  {
    name: 'TERM has the value of the client',
    run: (client) =>
      withPrompt(client, async (terminal) => {
        terminal.type('echo "<$TERM>"; tty\r');
        await terminal.waitForText(/\n<xterm-256color>\r\n\/dev\/pts\/\d+\r/);
      }),
  },
  {
    name: 'job control: ^Z, jobs, bg, fg, ^C',
    run: (client) =>
      withPrompt(client, async (terminal) => {
        terminal.type('sleep 77\r');
        await terminal.waitForText(/sleep 77\r\n/);
        await typedUntil(terminal, '\x1a', /Stopped\s+sleep 77[^]*ready> /);
        terminal.type('jobs\r');
        await terminal.waitForText(/\[1\]\+\s+Stopped\s+sleep 77[^]*ready> /);
        terminal.type('bg\r');
        await terminal.waitForText(/\[1\]\+ sleep 77 &[^]*ready> /);
        terminal.type('fg\r');
        await terminal.waitForText(/\nsleep 77\r\n/);
        await typedUntil(terminal, '\x03', /\^C[^]*ready> /);
        terminal.type('echo "<$?>"\r');
        await terminal.waitForText(/\n<130>\r/);
        assertEqual(
          'complaints about the terminal',
          /job control|process group/.exec(terminal.text),
          null,
        );
      }),
  },
  {
    name: '^D ends the shell with the exit code of the last command',
    run: (client) =>
      withPrompt(client, async (terminal) => {
        terminal.type('(exit 5)\r');
        await terminal.waitForText(/ready> /);
        terminal.type('\x04');
        assertEqual('exit code', await terminal.waitForExit(), 5);
      }),
  },
  {
    name: 'the escape sequence ~. closes the connection',
    run: (client) =>
      withPrompt(client, async (terminal) => {
        terminal.type('\r~.');
        assertEqual('exit code', await terminal.waitForExit(), 255);
      }),
  },
  {
    name: 'typed UTF-8 text is read and printed unchanged',
    run: (client) =>
      withPrompt(client, async (terminal) => {
        terminal.type("printf '<%s>\\n' 'é語'\r");
        await terminal.waitForText(/\n<é語>\r/);
      }),
  },
  {
    name: '100,000 lines on the terminal arrive complete',
    run: async (client) => {
      const { stdout, exitCode } = await client.ssh(['-tt', 'seq 1 100000']);
      const lines = stdout.toString().split('\r\n');
      assertEqual('exit code', exitCode, 0);
      assertEqual('lines', [lines.length, lines[0], lines[99_999]], [100_001, '1', '100000']);
    },
  },
  {
    name: 'with -t a command has a terminal, and its exit code reaches the client',
    run: async (client) => {
      const args = [...client.sshArgv, '-t', 'test -t 0 && test -t 1 && stty size; exit 9'];
      const terminal = Terminal.open(client, args, { rows: 31, columns: 99 });
      try {
        await terminal.waitForText(/31 99\r\n/);
        assertEqual('exit code', await terminal.waitForExit(), 9);
        assertMatches('text', terminal.text, /^31 99\r\nConnection to \S+ closed\.[\r\n]+$/);
      } finally {
        terminal.close();
      }
    },
  },
  {
    name: 'a full-screen program: tmux opens and detaches',
    run: async (client) => {
      await client.requireRemotePrograms('tmux');
      await withPrompt(client, async (terminal) => {
        terminal.type('tmux -L conformance -f /dev/null\r');
        await terminal.waitForText(/\[0\] 0:/);
        terminal.type("echo in''-tmux\r");
        await terminal.waitForText(/in-tmux/);
        terminal.type('\x02d');
        await terminal.waitForText(/\[detached[^]*ready> /);
        terminal.type('tmux -L conformance kill-server; echo "<$?>"\r');
        await terminal.waitForText(/\n<0>\r/);
      });
    },
  },
];

/** Types a key until the pattern appears. A key that is typed before the program has the terminal has no effect. */
async function typedUntil(terminal: Terminal, key: string, pattern: RegExp): Promise<void> {
  for (let tries = 0; tries < 3; tries += 1) {
    terminal.type(key);
    const shown = await terminal.waitForText(pattern, 2000).catch(() => undefined);
    if (shown !== undefined) return;
  }
  terminal.type(key);
  await terminal.waitForText(pattern);
}
