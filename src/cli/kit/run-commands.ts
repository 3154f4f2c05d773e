import yargs, { type Argv } from 'yargs';
import { asBerthError } from '../../system/errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import {
  type CommandGroups,
  type CommandNode,
  commandModule,
  commandTree,
  namedCommand,
} from './command.ts';
import { helpText } from './help-text.ts';
import { type ArgumentsOf, globalOptions } from './options.ts';
import { type Terminal, type WantedOutput, dryRunText, reportError } from './terminal.ts';
import { refused } from './usage-text.ts';

type WantingTerminal = Terminal & { readonly wanted: WantedOutput };

/**
 * Runs one command line of `berth`, with these commands. The code of a command is loaded when it runs.
 *
 * @param root their tree, if it is there already
 */
export async function runCommands(
  groups: CommandGroups,
  words: readonly string[],
  outer: Terminal,
  root = commandTree(groups),
): Promise<void> {
  const [first, ...others] = words;
  // What the scripts of etc/completion ask.
  if (first === '__complete') return writeCandidates(root, others, outer);
  // A first `--`, for which yargs would do nothing.
  if (first === '--') return runCommands(groups, others, outer, root);
  const wanted: WantedOutput = { quiet: false, failed: false };
  const terminal = { ...outer, wanted };
  const { path } = namedCommand(root, words);
  try {
    if (words.some((word) => /^(--help|-[A-Za-z]*h)$/.test(word))) writeHelp(root, words, terminal);
    else if (path.length === 0 && words.includes('--version'))
      terminal.stdout.write(`${terminal.version}\n`);
    else {
      const given = await parserOf(groups, root, words, terminal).parseAsync();
      if (!wanted.failed) sayDryRun(given, terminal);
    }
  } catch (thrown) {
    reportError(
      terminal,
      thrown instanceof Error && thrown.name === 'YError'
        ? refused(root, words, thrown.message)
        : asBerthError(thrown, ['berth', ...path].join(' ')),
    );
  }
}

function parserOf(
  groups: CommandGroups,
  root: CommandNode,
  words: readonly string[],
  terminal: WantingTerminal,
): Argv {
  const parser: Argv = yargs([...words])
    .scriptName('berth')
    .options(globalOptions)
    .locale('en')
    .parserConfiguration({
      'boolean-negation': false,
      'camel-case-expansion': false,
      // Without the array, yargs would keep only the last of several words or values.
      'duplicate-arguments-array': true,
    })
    .middleware((given) => applyGlobalOptions(given, terminal), true)
    .demandCommand(1, 1, 'a command is missing')
    .strict()
    .version(false)
    .help(false)
    .exitProcess(false)
    .showHelpOnFail(false)
    // A message is about the command line; errors of commands come without one.
    .fail((message: string | null, error: Error | undefined) => {
      throw message === null && error !== undefined ? error : refused(root, words, String(message));
    });
  for (const own of Object.values(groups).flat()) parser.command(commandModule(own, terminal));
  return parser;
}

/** @throws {BerthError} `usage` for a command that does not exist */
export function writeHelp(root: CommandNode, words: readonly string[], terminal: Terminal): void {
  const named = namedCommand(root, words);
  const unknown = words.find((word) => !word.startsWith('-'));
  if (named.node === root && unknown !== undefined)
    throw refused(root, [], `Unknown argument: ${unknown}`);
  const width = Math.min(terminal.columns ?? 100, 120);
  terminal.stdout.write(helpText(root, named, width));
}

/** yargs calls it for each command on the way: `sessions`, then `list`. */
async function applyGlobalOptions(
  { quiet = false, debug = false }: ArgumentsOf<typeof globalOptions>,
  { wanted, stderr }: WantingTerminal,
): Promise<void> {
  wanted.quiet = quiet;
  if (!debug || wanted.debug !== undefined) return;
  const { stackLines, writeDebugLines } = await import('./debug-output.ts');
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

async function writeCandidates(
  root: CommandNode,
  words: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const { complete } = await import('../complete.ts');
  const { candidates, fallback } = await complete(root, words);
  for (const { word, summary } of candidates)
    terminal.stdout.write(`${summary === '' ? word : `${word}\t${summary}`}\n`);
  terminal.stdout.write(`:${fallback}\n`);
}
