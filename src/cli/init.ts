import type { CommandModule } from 'yargs';
import { initClusterCommand } from './init-cluster.ts';
import { initLoginNodeCommand } from './init-login-node.ts';
import { initPortalCommand } from './init-portal.ts';
import type { Terminal } from './terminal.ts';

/** `berth init …`: the first steps. */
export function initCommand(terminal: Terminal): CommandModule {
  return {
    command: 'init',
    describe: 'Set up this host step by step: asks, shows the changes, makes and checks them',
    builder: (yargs) =>
      yargs
        .command(initLoginNodeCommand(terminal))
        .command(initPortalCommand(terminal))
        .command(initClusterCommand(terminal))
        .demandCommand(1, 1, 'init needs a subcommand: login-node, portal or cluster')
        .strict(),
    handler: () => undefined,
  };
}
