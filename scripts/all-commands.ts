import { companionCall } from '../src/cli/companions.ts';
import { groups, runCommandLine as runCore } from '../src/cli/command-line.ts';
import { type Command, type CommandGroups, commandTree } from '../src/cli/kit/command.ts';
import { runCommands } from '../src/cli/kit/run-commands.ts';
import type { Terminal } from '../src/cli/kit/terminal.ts';
import { renderBalancerCommand } from '../src/companions/balancer/balancer-command.ts';
import { discoverCommand } from '../src/companions/cluster-api/discover-command.ts';
import { renderJupyterhubCommand } from '../src/companions/notebooks/jupyterhub-command.ts';
import { renderOndemandAppCommand } from '../src/companions/notebooks/ondemand-app-command.ts';
import { renderSbatchCommand } from '../src/companions/notebooks/sbatch-command.ts';
import { renderPagesCommand } from '../src/companions/pages/pages-command.ts';
import { slurmSyncCommand } from '../src/companions/slurm-accounts/slurm-sync-command.ts';
import { verifyCommand } from '../src/companions/verify/verify-command.ts';

const ofCompanions: readonly Command[] = [
  discoverCommand,
  renderBalancerCommand,
  renderJupyterhubCommand,
  renderOndemandAppCommand,
  renderPagesCommand,
  renderSbatchCommand,
  slurmSyncCommand,
  verifyCommand,
];

/** A command of `berth`, with what companions have of it. */
function whole(core: Command): Command {
  const own = ofCompanions.find(
    ({ companion, command }) => companion === core.companion && command === core.command,
  );
  return own ?? { ...core, ...(core.commands && { commands: core.commands.map(whole) }) };
}

/** All commands of `berth`, by the title of their group. */
export const all: CommandGroups = Object.fromEntries(
  Object.entries(groups).map(([title, commands]) => [title, commands.map(whole)]),
);

/** `berth` with all commands, those of its companions too: for pages and tests. */
export const root = commandTree(all);

/** Runs a command line of `berth` in this process, where `berth` itself becomes the program of a companion. */
export function runCommandLine(words: readonly string[], terminal: Terminal): Promise<void> {
  const companion = companionCall(root, words);
  return companion === undefined
    ? runCore(words, terminal)
    : runCommands(all, companion.words, terminal);
}
