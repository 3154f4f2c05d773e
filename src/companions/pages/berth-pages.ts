import { group } from '../../cli/kit/command.ts';
import { main } from '../../cli/kit/main.ts';
import { runCommands } from '../../cli/kit/run-commands.ts';
import { renderPagesCommand } from './pages-command.ts';

const render = group('render', '', [renderPagesCommand]);

main((words, terminal) => runCommands({ Companions: [render] }, words, terminal));
