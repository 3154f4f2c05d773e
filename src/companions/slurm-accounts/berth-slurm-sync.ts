import { main } from '../../cli/kit/main.ts';
import { runCommands } from '../../cli/kit/run-commands.ts';
import { slurmSyncCommand } from './slurm-sync-command.ts';

main((words, terminal) => runCommands({ Companions: [slurmSyncCommand] }, words, terminal));
