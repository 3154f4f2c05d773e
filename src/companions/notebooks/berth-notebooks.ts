import { group } from '../../cli/kit/command.ts';
import { main } from '../../cli/kit/main.ts';
import { runCommands } from '../../cli/kit/run-commands.ts';
import { renderJupyterhubCommand } from './jupyterhub-command.ts';
import { renderOndemandAppCommand } from './ondemand-app-command.ts';
import { renderSbatchCommand } from './sbatch-command.ts';

const render = group('render', '', [
  renderSbatchCommand,
  renderJupyterhubCommand,
  renderOndemandAppCommand,
]);

main((words, terminal) => runCommands({ Companions: [render] }, words, terminal));
