import { becomeCompanion } from './become-companion.ts';
import { root, runCommandLine } from './command-line.ts';
import { companionCall } from './companions.ts';
import { main } from './kit/main.ts';

main(async (words, terminal) => {
  const companion = companionCall(root, words);
  if (companion === undefined) return runCommandLine(words, terminal);
  becomeCompanion(companion, terminal);
});
