import { group } from '../../cli/kit/command.ts';
import { main } from '../../cli/kit/main.ts';
import { runCommands } from '../../cli/kit/run-commands.ts';
import { renderBalancerCommand } from './balancer-command.ts';

const render = group('render', '', [renderBalancerCommand]);

main((words, terminal) => runCommands({ Companions: [render] }, words, terminal));
