import yargs, { type Argv } from 'yargs';
import { asBerthError } from '../../errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import { type CommandPlace, commandPlace } from './command-place.ts';
import { type CommandGroups, type CommandNode, commandModule, commandTree } from './command.ts';
import { helpText } from './help-text.ts';
import { type ArgumentsOf, globalOptions } from './options.ts';
import { type Terminal, type WantedOutput, dryRunText, reportError } from './terminal.ts';
import { asStrings, assertCommands, assertValues, isYargsError, refused } from './usage-text.ts';

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
  const place = commandPlace(root, words);
  const has = (name: string): boolean => place.given.some(([{ names }]) => names.includes(name));
  try {
    if (has('--help')) writeHelp(root, words, terminal);
    else if (has('--version') && place.node === root)
      terminal.stdout.write(`${terminal.version}\n`);
    else {
      const given = await parserOf(groups, root, place, terminal).parseAsync([...words]);
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
  terminal: WantingTerminal,
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

export function writeHelp(root: CommandNode, args: readonly string[], terminal: Terminal): void {
  assertCommands(root, args);
  const width = Math.min(terminal.columns ?? 100, 120);
  terminal.stdout.write(helpText(root, commandPlace(root, args), width));
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
