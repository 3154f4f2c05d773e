import { companionCommands } from './companions.ts';
import { type CommandGroups, command, commandTree, group } from './kit/command.ts';
import { words } from './kit/options.ts';
import { runCommands, writeHelp } from './kit/run-commands.ts';
import type { Terminal } from './kit/terminal.ts';
import { listClustersCommand } from './clusters/list.ts';
import { clustersReapCommand } from './clusters/reap.ts';
import { configCommand } from './config.ts';
import { doctorCommand, runTestSessionCommand } from './doctor.ts';
import { explainCommand } from './explain/explain.ts';
import { imagesCommand } from './images/images.ts';
import { initClusterCommand } from './init/cluster.ts';
import { initLoginNodeCommand } from './init/login-node.ts';
import { initPortalCommand } from './init/portal.ts';
import { ldapSyncCommand } from './ldap-sync.ts';
import { metricsCommand } from './metrics/metrics.ts';
import { nodeCommand } from './node/node.ts';
import { completionCommand, versionCommand } from './other-commands.ts';
import { planCommand } from './plan/plan.ts';
import { reapCommand } from './reap.ts';
import { renderCommand } from './render/render.ts';
import { sessionsCommand } from './sessions/sessions.ts';
import { sshdCommand } from './sshd/sshd.ts';
import { statusCommand } from './status/status.ts';
import { subidCommand } from './subid/subid.ts';
import { tokenCommand } from './token/token.ts';
import { traceCommand } from './trace.ts';

/** The command line of the admin, without what companions do. */
export async function runCommandLine(words: readonly string[], outer: Terminal): Promise<void> {
  const [first, ...others] = words;
  // What `berth doctor --start-session` runs as the user.
  if (first === '__test-session') return runTestSessionCommand(others, outer);
  return runCommands(groups, words, outer, root);
}

/** `berth help COMMAND`, as kubectl and git have it. */
const helpCommand = command({
  command: 'help [command..]',
  describe: 'Print the help of a command',
  positionals: { command: words(undefined, 'Such as `sessions list`') },
  examples: [['berth help sessions list', 'The same as berth sessions list --help']],
  run: ({ command: path = [] }, terminal) => writeHelp(root, path, terminal),
});

const initCommand = group(
  'init',
  'Set up this host step by step: asks, shows the changes, makes and checks them',
  [initLoginNodeCommand, initPortalCommand, initClusterCommand],
);

const clustersCommand = group(
  'clusters',
  "Manage the portal's list of clusters, and delete what has expired on them",
  [listClustersCommand, companionCommands.clustersDiscover, clustersReapCommand],
);

/** All commands, in the order of the help. */
export const groups: CommandGroups = {
  'Set up': [initCommand, sshdCommand, subidCommand, imagesCommand],
  Check: [doctorCommand, planCommand, renderCommand, configCommand, explainCommand],
  'Operate a login node': [sessionsCommand, nodeCommand, reapCommand],
  Watch: [statusCommand, traceCommand, metricsCommand],
  'Manage clusters': [clustersCommand, tokenCommand, ldapSyncCommand],
  Companions: [companionCommands.slurmSync, companionCommands.verify],
  Other: [completionCommand, helpCommand, versionCommand],
};

export const root = commandTree(groups);
