import type { CommandModule } from 'yargs';
import { discoverCommand } from './clusters-discover.ts';
import { listCommand } from './clusters-list.ts';
import { clustersReapCommand } from './clusters-reap.ts';
import { commandGroup } from './command-group.ts';
import type { Terminal } from './terminal.ts';

/** `berth clusters …`: the clusters of a site. */
export function clustersCommand(terminal: Terminal): CommandModule {
  return commandGroup(
    'clusters',
    "Manage the portal's list of clusters, and delete what has expired on them",
    [listCommand(terminal), discoverCommand(terminal), clustersReapCommand(terminal)],
  );
}
