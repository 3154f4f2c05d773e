import yargs, { type Argv, type CommandModule } from 'yargs';
import { asBerthError } from '../errors.ts';
import { escapedForTerminal } from '../log.ts';
import { clustersCommand } from './clusters.ts';
import { completionCommand } from './completion.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain.ts';
import { type GlobalArguments, globalOptions } from './global-options.ts';
import { lintCommand } from './lint.ts';
import { initCommand } from './init.ts';
import { imagesCommand } from './images.ts';
import { ldapSyncCommand } from './ldap-sync.ts';
import { nodeCommand } from './node.ts';
import { planCommand } from './plan.ts';
import { reapCommand } from './reap.ts';
import { renderCommand } from './render.ts';
import { sessionsCommand } from './sessions.ts';
import { sshdCommand } from './sshd.ts';
import { subidCommand } from './subid.ts';
import { reportError, type Terminal, type WantedOutput } from './terminal.ts';
import { tokenCommand } from './token.ts';
import { isYargsError, onceEach, refused, unknownCommand } from './refused-line.ts';
import { versionCommand } from './version.ts';

/** The command line of the admin. The code of a command is loaded when it runs. */
export async function runCommandLine(args: readonly string[], outer: Terminal): Promise<void> {
  const [first, ...words] = args;
  // What the scripts of etc/completion ask.
  if (first === '__complete') return writeCandidates(words, outer);
  // What `berth doctor --start-session` runs as the user.
  if (first === '__test-session')
    return (await import('./test-session.ts')).runTestSessionCommand(words, outer);
  // A first `--`, for which yargs would do nothing.
  if (first === '--') return runCommandLine(words, outer);
  const wanted: WantedOutput = { quiet: false };
  const terminal = { ...outer, wanted };
  const parser = commandLine(args, terminal);
  try {
    await parser.parseAsync(args, {}, (_error, _argv, output) => {
      // Only help, version and completion; errors go to fail().
      if (output !== '') terminal.stdout.write(`${output}\n`);
    });
  } catch (thrown) {
    reportError(
      terminal,
      isYargsError(thrown) ? refused(parser, thrown.message, args) : asBerthError(thrown, 'berth'),
    );
  }
}

function commandLine(
  args: readonly string[],
  terminal: Terminal & { readonly wanted: WantedOutput },
): Argv {
  const parser: Argv = globalOptions(yargs().scriptName('berth'))
    .usage('Usage: berth COMMAND [OPTIONS]')
    .locale('en')
    // Without the array, yargs would keep only the last of several words or values.
    .parserConfiguration({ 'duplicate-arguments-array': true, 'boolean-negation': false })
    .check((argv) => onceEach(parser, argv, args))
    .middleware((given) => applyGlobalOptions(given, terminal), true)
    .demandCommand(1, 1, 'a command is missing')
    .strict()
    .strictCommands()
    .example('berth doctor', 'Check the site, and print what to do')
    .example('berth plan --user alice', 'Print what the next login of alice would change')
    .example('berth render --user alice', 'Print the objects of alice without a cluster')
    .example('berth token rotate', "Renew the hook's token on all clusters")
    .version(terminal.version)
    .help()
    .alias('help', 'h')
    .wrap(Math.min(terminal.columns ?? 100, 120))
    .epilogue(
      'Each error has a code in brackets; `berth explain CODE` explains what happened, why, and what to do. Exit statuses: berth(8).',
    )
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message: string | null, error: Error | undefined) => {
      throw error ?? refused(parser, message ?? 'wrong command line', args);
    });
  for (const module of commandModules(terminal)) parser.command(module);
  return parser;
}

/** yargs calls it for each command on the way: `sessions`, then `list`. */
async function applyGlobalOptions(
  { quiet = false, debug = false }: GlobalArguments,
  { wanted, stderr }: Terminal & { readonly wanted: WantedOutput },
): Promise<void> {
  wanted.quiet = quiet;
  if (!debug || wanted.debug !== undefined) return;
  const { stackLines, writeDebugLines } = await import('./debug-output.ts');
  const write = (line: string): unknown => stderr.write(`debug: ${escapedForTerminal(line)}\n`);
  wanted.debug = (error) => stackLines(error).forEach(write);
  writeDebugLines(write);
}

async function writeCandidates(words: readonly string[], terminal: Terminal): Promise<void> {
  const [{ commandTree }, { complete }] = await Promise.all([
    import('./command-tree.ts'),
    import('./complete.ts'),
  ]);
  const { candidates, fallback } = await complete(commandTree(commandModules(terminal)), words);
  for (const { word, summary } of candidates)
    terminal.stdout.write(`${summary === '' ? word : `${word}\t${summary}`}\n`);
  terminal.stdout.write(`:${fallback}\n`);
}

/** All commands, in the order of the help. */
export function commandModules(terminal: Terminal): readonly CommandModule[] {
  return [
    initCommand(terminal),
    planCommand(terminal),
    renderCommand(terminal),
    doctorCommand(terminal),
    explainCommand(terminal),
    lintCommand(terminal),
    sshdCommand(terminal),
    clustersCommand(terminal),
    tokenCommand(terminal),
    subidCommand(terminal),
    imagesCommand(terminal),
    reapCommand(terminal),
    sessionsCommand(terminal),
    nodeCommand(terminal),
    ldapSyncCommand(terminal),
    completionCommand(terminal),
    helpCommand(terminal),
    versionCommand(terminal),
  ] as readonly CommandModule[];
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
    handler: async ({ command = [] }) => {
      try {
        await assertCommand(command, terminal);
      } catch (thrown) {
        reportError(terminal, asBerthError(thrown, 'berth help'));
        return;
      }
      return runCommandLine([...command, '--help'], terminal);
    },
  };
}

/** @throws BerthError `usage` if there is no such command: for that, yargs would print the help of the one before */
async function assertCommand(words: readonly string[], terminal: Terminal): Promise<void> {
  const { commandTree } = await import('./command-tree.ts');
  let { commands } = commandTree(commandModules(terminal));
  for (const word of words) {
    const found = commands.find(({ name }) => name === word);
    if (found === undefined) throw unknownCommand(word, commands);
    ({ commands } = found);
  }
}
