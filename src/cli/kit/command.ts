import type { Argv, CommandModule, Options, PositionalOptions } from 'yargs';
import { type OptionRules, checkOptions } from './option-rules.ts';
import { type ArgumentsOf, type OptionSpec, type OptionSpecs, globalOptions } from './options.ts';
import type { Terminal } from './terminal.ts';

interface Declared extends Omit<OptionRules, 'options'> {
  /** The name with its arguments: `show <session..>`. */
  readonly command: string;
  readonly describe: string;
  /** Command lines, each with what it does. */
  readonly examples?: readonly (readonly [string, string])[];
  /** What follows the options in help. */
  readonly epilogue?: string;
  readonly commands?: readonly Command[];
  /** The companion whose program carries it out: src/cli/companions.ts. */
  readonly companion?: string;
}

/** A command as it is declared. It is data; `run` loads its code. */
export interface Command extends Declared {
  readonly options?: OptionSpecs;
  readonly positionals?: OptionSpecs;
  /** @returns or promises an exit status; anything else is success, or the errors that were reported */
  readonly run?: (args: never, terminal: Terminal) => unknown;
}

/** Declares a command: the types of what `run` gets follow from its options and arguments. */
export function command<const Own extends object = object, const Words extends object = object>(
  declared: Declared & {
    readonly options?: Own & OptionSpecs;
    readonly positionals?: Words & OptionSpecs;
    readonly run: (
      args: ArgumentsOf<NoInfer<Own>> & ArgumentsOf<NoInfer<Words>>,
      terminal: Terminal,
    ) => unknown;
  },
): Command {
  return declared;
}

/** A command that only has commands. */
export function group(name: string, describe: string, commands: readonly Command[]): Command {
  return { command: name, describe, commands };
}

/** Commands by the title of their group. */
export type CommandGroups = Readonly<Record<string, readonly Command[]>>;

/** The same for yargs. */
export function commandModule(declared: Command, terminal: Terminal): CommandModule {
  const {
    command: synopsis,
    describe,
    options = {},
    positionals = {},
    commands = [],
    run,
  } = declared;
  return {
    command: synopsis,
    describe,
    builder: (yargs: Argv) => {
      for (const [name, spec] of Object.entries(options))
        // Those of `render` are not of its commands.
        yargs.option(name, { ...spec, global: false } as Options);
      for (const [name, spec] of Object.entries(positionals))
        yargs.positional(name, spec as PositionalOptions);
      for (const own of commands) yargs.command(commandModule(own, terminal));
      yargs.check((given) => checkOptions(declared, given), false);
      if (run !== undefined) return yargs;
      const names = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
        commands.map(nameOf),
      );
      return yargs.demandCommand(1, 1, `${synopsis} needs a subcommand: ${names}`).strict();
    },
    handler: async (args) => {
      const status = await run?.(args as never, terminal);
      if (typeof status === 'number') terminal.finish(status);
    },
  };
}

/** A command with its options and its own commands, as its help shows them. */
export interface CommandNode extends Omit<Declared, 'commands'> {
  readonly name: string;
  /** Title of the group in which the help of `berth` lists it. */
  readonly group?: string | undefined;
  /** Those of the root are of all commands, except `--version`. */
  readonly options: readonly OptionNode[];
  readonly positionals: readonly PositionalNode[];
  readonly commands: readonly CommandNode[];
}

export interface PositionalNode extends OptionSpec {
  readonly name: string;
}

export interface OptionNode extends OptionSpec {
  /** With dashes: `--output`, `-o`. */
  readonly names: readonly string[];
}

const rootExamples = [
  ['berth doctor', 'Check the site, and print what to do'],
  ['berth plan --user alice', 'Print what the next login of alice would change'],
  ['berth render --user alice', 'Print the objects of alice without a cluster'],
  ['berth token rotate', "Renew the hook's token on all clusters"],
] as const;

const rootEpilogue =
  'Each error has a code in brackets; `berth explain CODE` explains what happened, why, and what to do. Exit statuses: berth(8).';

/** The commands for help, completion and the manual. */
export function commandTree(groups: CommandGroups): CommandNode {
  const version = { type: 'boolean', describe: 'Show version number' } as const;
  return {
    name: 'berth',
    command: '',
    describe: '',
    examples: rootExamples,
    epilogue: rootEpilogue,
    positionals: [],
    options: optionNodes({ ...globalOptions, version }),
    commands: Object.entries(groups).flatMap(([title, commands]) =>
      commands.map((own) => nodeOf(own, title)),
    ),
  };
}

function nodeOf(declared: Command, group?: string): CommandNode {
  const { options = {}, positionals = {}, commands = [] } = declared;
  return {
    ...declared,
    name: nameOf(declared),
    group,
    options: optionNodes(options),
    positionals: Object.entries(positionals).map(([name, spec]) => ({ ...spec, name })),
    commands: commands.map((own) => nodeOf(own)),
  };
}

function nameOf({ command: synopsis }: Command): string {
  return synopsis.split(' ', 1)[0] ?? '';
}

function optionNodes(options: OptionSpecs): OptionNode[] {
  return Object.entries(options).map(([name, spec]) => {
    const names = [name, spec.alias ?? []].flat();
    return { ...spec, names: names.map((one) => (one.length === 1 ? `-${one}` : `--${one}`)) };
  });
}

/** Those that help shows. */
export function shownOptions({ options }: CommandNode): readonly OptionNode[] {
  return options.filter(({ hidden = false }) => !hidden);
}

/** A command has the options of the root, too. */
export function optionsAt(root: CommandNode, node: CommandNode): readonly OptionNode[] {
  if (node === root) return root.options;
  const others = root.options.filter(({ names }) => !names.includes('--version'));
  return [...node.options, ...others];
}

/** A command with the names that lead to it, without `berth`. */
export interface NamedCommand {
  readonly path: readonly string[];
  readonly node: CommandNode;
}

/** The command that a command line begins with, after options of all commands. */
export function namedCommand(root: CommandNode, words: readonly string[]): NamedCommand {
  const path: string[] = [];
  let node = root;
  for (const word of words) {
    const own = node.commands.find(({ name }) => name === word);
    if (own !== undefined) {
      path.push(word);
      node = own;
    } else if (!root.options.some(({ names }) => names.includes(word))) break;
  }
  return { path, node };
}
