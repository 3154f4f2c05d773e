import { main } from '../../cli/kit/main.ts';
import { runCommands } from '../../cli/kit/run-commands.ts';
import { verifyCommand } from './verify-command.ts';

main((words, terminal) => runCommands({ Companions: [verifyCommand] }, words, terminal));
