import { afterEach, describe, expect, it } from 'vitest';
import { Terminal } from '../../../../../src/companions/verify/terminal.ts';
import type { RelayPod } from '../../../../rig/pod-exec/relay-pod.ts';
import { withRelayPod } from '../../../../rig/pod-exec/with-relay-pod.ts';

let box: RelayPod;
let terminal: Terminal | undefined;

withRelayPod((made) => {
  box = made;
});

afterEach(() => {
  terminal?.close();
  terminal = undefined;
});

/** A terminal with a relay in it, and behind it the shell that somebody sits at. */
function opened(command: readonly string[], size?: { rows: number; columns: number }): Terminal {
  const words = box.relayArgv(command, { tty: true });
  const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const env = { PATH: process.env.PATH ?? '' };
  const local = ['sh', '-c', `${quoted}; echo "relay ended: $?"; stty -a; echo over`];
  terminal = Terminal.open({ env }, local, size);
  return terminal;
}

describe('the terminal of a session', () => {
  it('has the size of the window, from the start and when it changes', async () => {
    const screen = opened(['sh', '-c', 'while :; do stty size; sleep 0.2; done'], {
      rows: 31,
      columns: 97,
    });
    await screen.waitForText(/31 97/);
    await screen.resize(44, 132);
    await screen.waitForText(/44 132/);
    screen.type('\u0003');
    await screen.waitForText(/relay ended: 130/);
  });

  it('forwards every key: Ctrl-C ends the command in the pod, not the session', async () => {
    const screen = opened(['sh']);
    await screen.waitForText(/# /);
    screen.type("sh -c 'echo $((6 * 7)) waits; exec sleep 100'\r");
    await screen.waitForText(/42 waits/);
    screen.type('\u0003');
    await screen.waitForText(/# /);
    screen.type('echo still $((40 + 2))\r');
    await screen.waitForText(/still 42/);
    screen.type('\u0004');
    await screen.waitForText(/relay ended: 0/);
  });

  it('shows what is said byte for byte: a line feed alone stays one', async () => {
    const screen = opened(['sh', '-c', "stty -opost; printf 'up\\ndown\\tend'"]);
    await screen.waitForText(/up\ndown\tend/);
    await screen.waitForText(/relay ended: 0/);
  });

  it.each([
    ['the command ends', 'exit 5', /relay ended: 5/],
    ['the command dies', 'kill -9 $$', /relay ended: 137/],
  ])('is restored when %s', async (_what, script, end) => {
    const screen = opened(['sh', '-c', `sleep 0.2; ${script}`]);
    await screen.waitForText(end);
    const [modes = ''] = await screen.waitForText(/[^]*over/);
    for (const mode of ['opost', 'icanon', 'echo', 'isig', 'icrnl', 'ixon', 'iexten'])
      expect(modes.split(/[\s;]+/)).toContain(mode);
  });

  it('is restored when the session is ended from outside', async () => {
    const screen = opened(['sh', '-c', 'echo pid; sleep 100']);
    await screen.waitForText(/pid/);
    const pids = await box.relayPids();
    expect(pids).toHaveLength(1);
    for (const pid of pids) process.kill(pid, 'SIGTERM');
    await screen.waitForText(/session-signalled: the session was ended by SIGTERM/);
    await screen.waitForText(/relay ended: 255/);
    const [modes = ''] = await screen.waitForText(/[^]*over/);
    for (const mode of ['opost', 'icanon', 'echo']) expect(modes.split(/[\s;]+/)).toContain(mode);
  });

  it('is restored when nothing ran', async () => {
    const words = box.relayArgv(['true'], { tty: true, pod: 'gone' });
    const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    terminal = Terminal.open({ env: { PATH: process.env.PATH ?? '' } }, [
      ...['sh', '-c', `${quoted}; echo "relay ended: $?"; stty -a; echo over`],
    ]);
    await terminal.waitForText(/relay ended: 255/);
    const [modes = ''] = await terminal.waitForText(/[^]*over/);
    expect(modes.split(/[\s;]+/)).toContain('opost');
  });
});
