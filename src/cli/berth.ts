import { becomeCompanion } from './become-companion.ts';
import { groups, runCommandLine } from './command-line.ts';
import { companionCall } from './companions.ts';
import { commandTree } from './kit/command.ts';
import { main } from './kit/main.ts';

main(async (words, terminal) => {
  const companion = companionCall(commandTree(groups), words);
  if (companion === undefined) return runCommandLine(words, terminal);
  becomeCompanion(companion, terminal);
});
