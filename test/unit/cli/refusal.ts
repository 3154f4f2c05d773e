import { runCommandLine } from '../../../scripts/all-commands.ts';
import type { Terminal } from '../../../src/cli/kit/terminal.ts';

/** What a command line that is refused prints on standard error. */
export async function refusal(...args: string[]): Promise<string> {
  let [text, status] = ['', 0];
  const terminal = {
    ...{ env: {}, stdinIsTTY: false, version: '0', program: '', toolsDir: '/usr/lib/berth/files' },
    stdout: { write: () => undefined },
    stderr: { write: (more: string) => (text += more) },
    now: Date.now,
    finish: (wanted: number) => (status = Math.max(status, wanted)),
  } satisfies Terminal;
  await runCommandLine(args, terminal);
  return `${status}: ${text.split('\n', 1)[0]}`;
}
