import type { CommandModule } from 'yargs';
import { discoverCommand } from './discover.ts';
import { listCommand } from './list.ts';
import { clustersReapCommand } from './reap.ts';
import { commandGroup } from '../kit/command-group.ts';
import type { Terminal } from '../kit/terminal.ts';

/** `berth clusters …`: the clusters of a site. */
export function clustersCommand(terminal: Terminal): CommandModule {
  return commandGroup(
    'clusters',
    "Manage the portal's list of clusters, and delete what has expired on them",
    [listCommand(terminal), discoverCommand(terminal), clustersReapCommand(terminal)],
  );
}
