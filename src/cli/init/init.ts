import type { CommandModule } from 'yargs';
import { commandGroup } from '../kit/command-group.ts';
import { initClusterCommand } from './cluster.ts';
import { initLoginNodeCommand } from './login-node.ts';
import { initPortalCommand } from './portal.ts';
import type { Terminal } from '../kit/terminal.ts';

/** `berth init …`: the first steps. */
export function initCommand(terminal: Terminal): CommandModule {
  return commandGroup(
    'init',
    'Set up this host step by step: asks, shows the changes, makes and checks them',
    [initLoginNodeCommand(terminal), initPortalCommand(terminal), initClusterCommand(terminal)],
  );
}
