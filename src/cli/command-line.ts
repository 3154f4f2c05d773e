import yargs, { type Argv, type CommandModule } from 'yargs';
import { asBerthError } from '../errors/berth-error.ts';
import { escapedForTerminal } from '../log.ts';
import { clustersCommand } from './clusters/clusters.ts';
import { type CommandPlace, commandPlace } from './kit/command-place.ts';
import { type CommandGroups, type CommandNode, commandTree } from './kit/command-tree.ts';
import { configCommand } from './config.ts';
import { completionCommand } from './completion.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain/explain.ts';
import { withPresentNames } from './kit/former-names.ts';
import { type GlobalArguments, globalOptions } from './kit/global-options.ts';
import { helpText } from './kit/help-text.ts';
import { initCommand } from './init/init.ts';
import { imagesCommand } from './images/images.ts';
import { ldapSyncCommand } from './ldap-sync.ts';
import { nodeCommand } from './node/node.ts';
import { planCommand } from './plan/plan.ts';
import { reapCommand } from './reap.ts';
import { renderCommand } from './render/render.ts';
import { sessionsCommand } from './sessions/sessions.ts';
import { sshdCommand } from './sshd/sshd.ts';
import { subidCommand } from './subid/subid.ts';
import { dryRunText, reportError, type Terminal, type WantedOutput } from './kit/terminal.ts';
import { tokenCommand } from './token/token.ts';
import { assertCommands, assertValues, isYargsError, refused } from './kit/refused-line.ts';
import { asStrings } from './kit/usage-text.ts';
import { versionCommand } from './version.ts';

/** The command line of the admin. The code of a command is loaded when it runs. */
export async function runCommandLine(words: readonly string[], outer: Terminal): Promise<void> {
  const [first, ...others] = words;
  // What the scripts of etc/completion ask.
  if (first === '__complete') return writeCandidates(others, outer);
  // What `berth doctor --start-session` runs as the user.
  if (first === '__test-session')
    return (await import('./test-session.ts')).runTestSessionCommand(others, outer);
  // A first `--`, for which yargs would do nothing.
  if (first === '--') return runCommandLine(others, outer);
  const wanted: WantedOutput = { quiet: false, failed: false };
  const terminal = { ...outer, wanted };
  const groups = commandGroups(terminal);
  const root = commandTree(groups);
  const { args, notices, place } = withPresentNames(root, words);
  const has = (name: string): boolean => place.given.some(([{ names }]) => names.includes(name));
  if (!has('--quiet')) for (const notice of notices) terminal.stderr.write(`berth: ${notice}\n`);
  try {
    if (has('--help')) writeHelp(root, args, terminal);
    else if (has('--version') && place.node === root)
      terminal.stdout.write(`${terminal.version}\n`);
    else {
      const given = await parserOf(groups, root, place, terminal).parseAsync([...args]);
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
  groups: CommandGroups,
  root: CommandNode,
  place: CommandPlace,
  terminal: Terminal & { readonly wanted: WantedOutput },
): Argv {
  const parser: Argv = globalOptions(yargs().scriptName('berth'))
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
  for (const module of Object.values(groups).flat()) parser.command(module);
  return parser;
}

function writeHelp(root: CommandNode, args: readonly string[], terminal: Terminal): void {
  assertCommands(root, args);
  const width = Math.min(terminal.columns ?? 100, 120);
  terminal.stdout.write(helpText(root, commandPlace(root, args), width));
}

/** yargs calls it for each command on the way: `sessions`, then `list`. */
async function applyGlobalOptions(
  { quiet = false, debug = false }: GlobalArguments,
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
  const { candidates, fallback } = await complete(commandTree(commandGroups(terminal)), words);
  for (const { word, summary } of candidates)
    terminal.stdout.write(`${summary === '' ? word : `${word}\t${summary}`}\n`);
  terminal.stdout.write(`:${fallback}\n`);
}

/** All commands, in the order of the help. */
export function commandGroups(terminal: Terminal): CommandGroups {
  return {
    'Set up': [
      initCommand(terminal),
      sshdCommand(terminal),
      subidCommand(terminal),
      imagesCommand(terminal),
    ],
    Check: [
      doctorCommand(terminal),
      planCommand(terminal),
      renderCommand(terminal),
      configCommand(terminal),
      explainCommand(terminal),
    ],
    'Operate a login node': [
      sessionsCommand(terminal),
      nodeCommand(terminal),
      reapCommand(terminal),
    ],
    'Manage clusters': [
      clustersCommand(terminal),
      tokenCommand(terminal),
      ldapSyncCommand(terminal),
    ],
    Other: [completionCommand(terminal), helpCommand(terminal), versionCommand(terminal)],
  } as unknown as CommandGroups;
}

/** `berth help COMMAND`, as kubectl and git have it. */
function helpCommand(terminal: Terminal): CommandModule<object, { command: string[] | undefined }> {
  return {
    command: 'help [command..]',
    describe: 'Print the help of a command',
    builder: (yargs) =>
      yargs
        .positional('command', { type: 'string', array: true, describe: 'Such as `sessions list`' })
        .example('berth help sessions list', 'The same as berth sessions list --help'),
    handler: ({ command = [] }) =>
      writeHelp(commandTree(commandGroups(terminal)), command, terminal),
  };
}
