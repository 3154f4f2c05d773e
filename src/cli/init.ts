import type { CommandModule } from 'yargs';
import { commandGroup } from './command-group.ts';
import { initClusterCommand } from './init-cluster.ts';
import { initLoginNodeCommand } from './init-login-node.ts';
import { initPortalCommand } from './init-portal.ts';
import type { Terminal } from './terminal.ts';

/** `berth init …`: the first steps. */
export function initCommand(terminal: Terminal): CommandModule {
  return commandGroup(
    'init',
    'Set up this host step by step: asks, shows the changes, makes and checks them',
    [initLoginNodeCommand(terminal), initPortalCommand(terminal), initClusterCommand(terminal)],
  );
}
