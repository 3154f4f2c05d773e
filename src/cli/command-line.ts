import yargs, { type Argv } from 'yargs';
import { asBerthError } from '../errors/berth-error.ts';
import { escapedForTerminal } from '../log.ts';
import { discoverCommand } from './clusters/discover.ts';
import { listClustersCommand } from './clusters/list.ts';
import { clustersReapCommand } from './clusters/reap.ts';
import { configCommand } from './config.ts';
import { doctorCommand, runTestSessionCommand } from './doctor.ts';
import { explainCommand } from './explain/explain.ts';
import { imagesCommand } from './images/images.ts';
import { initClusterCommand } from './init/cluster.ts';
import { initLoginNodeCommand } from './init/login-node.ts';
import { initPortalCommand } from './init/portal.ts';
import { type CommandPlace, commandPlace } from './kit/command-place.ts';
import { type CommandGroups, command, commandModule, commandTree, group } from './kit/command.ts';
import { helpText } from './kit/help-text.ts';
import { type ArgumentsOf, globalOptions, words } from './kit/options.ts';
import { type Terminal, type WantedOutput, dryRunText, reportError } from './kit/terminal.ts';
import {
  asStrings,
  assertCommands,
  assertValues,
  isYargsError,
  refused,
} from './kit/usage-text.ts';
import { ldapSyncCommand } from './ldap-sync.ts';
import { metricsCommand } from './metrics/metrics.ts';
import { nodeCommand } from './node/node.ts';
import { completionCommand, versionCommand } from './other-commands.ts';
import { planCommand } from './plan/plan.ts';
import { reapCommand } from './reap.ts';
import { renderCommand } from './render/render.ts';
import { sessionsCommand } from './sessions/sessions.ts';
import { slurmSyncCommand } from './slurm-sync.ts';
import { sshdCommand } from './sshd/sshd.ts';
import { statusCommand } from './status/status.ts';
import { subidCommand } from './subid/subid.ts';
import { tokenCommand } from './token/token.ts';
import { traceCommand } from './trace.ts';
import { verifyCommand } from './verify/verify.ts';

/** The command line of the admin. The code of a command is loaded when it runs. */
export async function runCommandLine(words: readonly string[], outer: Terminal): Promise<void> {
  const [first, ...others] = words;
  // What the scripts of etc/completion ask.
  if (first === '__complete') return writeCandidates(others, outer);
  // What `berth doctor --start-session` runs as the user.
  if (first === '__test-session') return runTestSessionCommand(others, outer);
  // A first `--`, for which yargs would do nothing.
  if (first === '--') return runCommandLine(others, outer);
  const wanted: WantedOutput = { quiet: false, failed: false };
  const terminal = { ...outer, wanted };
  const place = commandPlace(root, words);
  const has = (name: string): boolean => place.given.some(([{ names }]) => names.includes(name));
  try {
    if (has('--help')) writeHelp(words, terminal);
    else if (has('--version') && place.node === root)
      terminal.stdout.write(`${terminal.version}\n`);
    else {
      const given = await parserOf(place, terminal).parseAsync([...words]);
      if (!wanted.failed) sayDryRun(given, terminal);
    }
  } catch (thrown) {
    reportError(
      terminal,
      isYargsError(thrown)
        ? refused(root, thrown.message, place)
        : asBerthError(thrown, ['berth', ...place.path].join(' ')),
    );
  }
}

function parserOf(
  place: CommandPlace,
  terminal: Terminal & { readonly wanted: WantedOutput },
): Argv {
  const parser: Argv = yargs()
    .scriptName('berth')
    .options(globalOptions)
    .locale('en')
    .updateStrings(asStrings)
    // Without the array, yargs would keep only the last of several words or values.
    .parserConfiguration({ 'duplicate-arguments-array': true, 'boolean-negation': false })
    .middleware((given) => applyGlobalOptions(given, terminal), true)
    .middleware(() => assertValues(place), true)
    .demandCommand(1, 1, 'a command is missing')
    .strict()
    .strictCommands()
    .version(false)
    .help(false)
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message: string | null, error: Error | undefined) => {
      throw error ?? refused(root, message ?? 'wrong command line', place);
    });
  for (const own of Object.values(groups).flat()) parser.command(commandModule(own, terminal));
  return parser;
}

function writeHelp(args: readonly string[], terminal: Terminal): void {
  assertCommands(root, args);
  const width = Math.min(terminal.columns ?? 100, 120);
  terminal.stdout.write(helpText(root, commandPlace(root, args), width));
}

/** yargs calls it for each command on the way: `sessions`, then `list`. */
async function applyGlobalOptions(
  { quiet = false, debug = false }: ArgumentsOf<typeof globalOptions>,
  { wanted, stderr }: Terminal & { readonly wanted: WantedOutput },
): Promise<void> {
  wanted.quiet = quiet;
  if (!debug || wanted.debug !== undefined) return;
  const { stackLines, writeDebugLines } = await import('./kit/debug-output.ts');
  const write = (line: string): unknown => stderr.write(`debug: ${escapedForTerminal(line)}\n`);
  wanted.debug = (error) => stackLines(error).forEach(write);
  writeDebugLines(write);
}

/** JSON has `dryRun`. `turns`: a part of `berth reap`, which says it itself. */
function sayDryRun(given: Readonly<Record<string, unknown>>, { stderr }: Terminal): void {
  const { 'dry-run': dryRun, output = 'text', turns, help } = given;
  if (dryRun !== true || help === true) return;
  if (output === 'text' && turns === undefined) stderr.write(dryRunText);
}

async function writeCandidates(words: readonly string[], terminal: Terminal): Promise<void> {
  const { complete } = await import('./complete.ts');
  const { candidates, fallback } = await complete(root, words);
  for (const { word, summary } of candidates)
    terminal.stdout.write(`${summary === '' ? word : `${word}\t${summary}`}\n`);
  terminal.stdout.write(`:${fallback}\n`);
}

/** `berth help COMMAND`, as kubectl and git have it. */
const helpCommand = command({
  command: 'help [command..]',
  describe: 'Print the help of a command',
  positionals: { command: words(undefined, 'Such as `sessions list`') },
  examples: [['berth help sessions list', 'The same as berth sessions list --help']],
  run: ({ command: path = [] }, terminal) => writeHelp(path, terminal),
});

const initCommand = group(
  'init',
  'Set up this host step by step: asks, shows the changes, makes and checks them',
  [initLoginNodeCommand, initPortalCommand, initClusterCommand],
);

const clustersCommand = group(
  'clusters',
  "Manage the portal's list of clusters, and delete what has expired on them",
  [listClustersCommand, discoverCommand, clustersReapCommand],
);

/** All commands, in the order of the help. */
const groups: CommandGroups = {
  'Set up': [initCommand, sshdCommand, subidCommand, imagesCommand],
  Check: [doctorCommand, verifyCommand, planCommand, renderCommand, configCommand, explainCommand],
  'Operate a login node': [sessionsCommand, nodeCommand, reapCommand],
  Watch: [statusCommand, traceCommand, metricsCommand],
  'Manage clusters': [clustersCommand, tokenCommand, ldapSyncCommand, slurmSyncCommand],
  Other: [completionCommand, helpCommand, versionCommand],
};

/** `berth` with all its commands. */
export const root = commandTree(groups);
