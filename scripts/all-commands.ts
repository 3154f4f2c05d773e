import { companionCall } from '../src/cli/companions.ts';
import { groups, runCommandLine as runCore } from '../src/cli/command-line.ts';
import { commandTree } from '../src/cli/kit/command.ts';
import { runCommands } from '../src/cli/kit/run-commands.ts';
import type { Terminal } from '../src/cli/kit/terminal.ts';
import { verifyCommand } from '../src/companions/verify/verify-command.ts';

const companions = { Companions: [verifyCommand] };

/** `berth` with all commands, those of its companions too: for pages and tests. */
export const root = commandTree({ ...groups, ...companions });

/** Runs a command line of `berth` in this process, where `berth` itself becomes the program of a companion. */
export function runCommandLine(words: readonly string[], terminal: Terminal): Promise<void> {
  const companion = companionCall(words);
  return companion === undefined
    ? runCore(words, terminal)
    : runCommands(companions, companion.words, terminal);
}
