import { group } from '../../cli/kit/command.ts';
import { main } from '../../cli/kit/main.ts';
import { runCommands } from '../../cli/kit/run-commands.ts';
import { discoverCommand } from './discover-command.ts';

const clusters = group('clusters', '', [discoverCommand]);

main((words, terminal) => runCommands({ Companions: [clusters] }, words, terminal));
