import { type Command, type CommandNode, namedCommand } from './kit/command.ts';

/**
 * Commands of companions, each at its place in the tree of commands: a companion NAME is a program of its own beside
 * `berth`, which `berth` becomes for them, `berth-NAME`.
 */
export const companionCommands = {
  clustersDiscover: {
    companion: 'cluster-api',
    command: 'discover',
    describe: 'Write clusters.d and berth.yml for the Clusters of a Cluster API management cluster',
  },
  renderBalancer: {
    companion: 'balancer',
    command: 'balancer',
    describe: 'Print or write the configuration of the balancer in front of the login nodes',
  },
  renderJupyterhub: {
    companion: 'notebooks',
    command: 'jupyterhub [profile..]',
    describe: 'Print or write the configuration of a JupyterHub with these profiles',
  },
  renderOndemandApp: {
    companion: 'notebooks',
    command: 'ondemand-app <profile> <directory>',
    describe: 'Write an interactive app of Open OnDemand that runs with a profile',
  },
  renderPages: {
    companion: 'pages',
    command: 'pages <directory>',
    describe: 'Write static pages for users: how to connect, profiles, status and news',
  },
  renderSbatch: {
    companion: 'notebooks',
    command: 'sbatch <profile>',
    describe: "Print a Slurm job script that runs commands in a profile's container",
  },
  slurmSync: {
    companion: 'slurm-sync',
    command: 'slurm-sync',
    describe: "Make Slurm's accounts and users from groups in LDAP",
  },
  verify: {
    companion: 'verify',
    command: 'verify <host>',
    describe: 'Try what users do with SSH on a login node, with the clients of this machine',
  },
} as const satisfies Readonly<Record<string, Command>>;

export interface CompanionCall {
  readonly name: string;
  /** For its program. */
  readonly words: readonly string[];
}

/**
 * The companion that a command line calls.
 *
 * @param root of the commands of `berth`
 * @param words after `berth`
 */
export function companionCall(
  root: CommandNode,
  words: readonly string[],
): CompanionCall | undefined {
  const [first, ...others] = words;
  // runCommands ignores a first `--`.
  if (first === '--') return companionCall(root, others);
  // The last word is being written.
  const completes = first === '__complete';
  const line = completes ? others.slice(0, -1) : words;
  const named = namedCommand(root, line);
  const isHelp = named.path[0] === 'help';
  const asked = line.filter((word) => word !== 'help');
  const { companion } = isHelp ? namedCommand(root, asked).node : named.node;
  if (companion === undefined) return undefined;
  const asOption = [...words.filter((word) => word !== 'help'), '--help'];
  return { name: companion, words: isHelp && !completes ? asOption : words };
}
