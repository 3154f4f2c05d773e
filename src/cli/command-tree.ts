import yargs, { type Argv, type CommandModule } from 'yargs';
import { globalOptions } from './global-options.ts';

/** A command with its options and its own commands, as its help shows them. */
export interface CommandNode {
  readonly name: string;
  /** The name with its arguments: `show <session..>`. */
  readonly synopsis: string;
  readonly summary: string;
  /** Command lines, each with what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** What follows the options; may be empty. */
  readonly epilogue: string;
  /** Those of the root are of all commands, except `--version`. */
  readonly options: readonly OptionNode[];
  readonly positionals: readonly PositionalNode[];
  readonly commands: readonly CommandNode[];
}

export interface OptionNode {
  /** With dashes: `--output`, `-o`. */
  readonly names: readonly string[];
  readonly summary: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
  readonly default: unknown;
}

export interface PositionalNode {
  readonly name: string;
  readonly summary: string;
  readonly choices: readonly string[];
}

/** What yargs knows of a command and its types leave out. */
interface Known {
  getOptions(): {
    readonly key: Readonly<Record<string, unknown>>;
    readonly alias: Readonly<Record<string, readonly string[]>>;
    readonly choices: Readonly<Record<string, readonly unknown[]>>;
    readonly boolean: readonly string[];
    readonly default: Readonly<Record<string, unknown>>;
    readonly hiddenOptions: readonly string[];
  };
  getGroups(): Readonly<Record<string, readonly string[]>>;
  getInternalMethods(): {
    getUsageInstance(): {
      getDescriptions(): Readonly<Record<string, string | undefined>>;
      getCommands(): readonly (readonly [string, string | false, ...unknown[]])[];
      getPositionalGroupName(): string;
    };
    getCommandInstance(): {
      getCommandHandlers(): Readonly<Record<string, { readonly builder?: unknown }>>;
    };
  };
}

/** Describes commands by running their builders, which read and change nothing. */
export function commandTree(modules: readonly CommandModule[]): CommandNode {
  const parser: Argv = globalOptions(yargs().scriptName('berth').locale('en').help().version(''));
  for (const module of modules) parser.command(module);
  return nodeOf('berth', '', { parser, examples: [], epilogue: '' });
}

function nodeOf(
  synopsis: string,
  summary: string,
  { parser, examples, epilogue }: Built,
): CommandNode {
  const known = parser as unknown as Known;
  const internal = known.getInternalMethods();
  const usage = internal.getUsageInstance();
  const handlers = internal.getCommandInstance().getCommandHandlers();
  const positionals = known.getGroups()[usage.getPositionalGroupName()] ?? [];
  return {
    ...{ name: nameIn(synopsis), synopsis, summary, examples, epilogue },
    options: optionsOf(known, new Set(positionals)),
    positionals: positionals.map((name) => ({
      ...{ name, summary: summaryOf(known, name), choices: choicesOf(known, name) },
    })),
    commands: usage.getCommands().flatMap(([own, description]) => {
      if (description === false) return [];
      return nodeOf(own, description, built(handlers[nameIn(own)]?.builder));
    }),
  };
}

function nameIn(synopsis: string): string {
  return synopsis.split(' ', 1)[0] ?? '';
}

interface Built {
  readonly parser: Argv;
  readonly examples: readonly (readonly [string, string])[];
  readonly epilogue: string;
}

function built(builder: unknown): Built {
  const parser: Argv = yargs().locale('en').help().alias('help', 'h').version(false);
  const examples: (readonly [string, string])[] = [];
  let epilogue = '';
  // yargs does not give them back.
  Object.assign(parser, {
    example: (command: string, meaning: string) => {
      examples.push([command, meaning]);
      return parser;
    },
    epilogue: (text: string) => {
      epilogue = text;
      return parser;
    },
  });
  if (typeof builder === 'function') (builder as (parser: Argv) => unknown)(parser);
  return { parser, examples, epilogue };
}

function optionsOf(known: Known, positionals: ReadonlySet<string>): OptionNode[] {
  const { key, alias, boolean, hiddenOptions, default: defaults } = known.getOptions();
  const others = new Set(Object.values(alias).flat());
  return Object.keys(key)
    .filter((name) => ![positionals, others].some((set) => set.has(name)))
    .filter((name) => !hiddenOptions.includes(name))
    .map((name) => ({
      names: [name, ...(alias[name] ?? [])].map((one) => `${one.length === 1 ? '-' : '--'}${one}`),
      summary: summaryOf(known, name),
      takesValue: !boolean.includes(name),
      choices: choicesOf(known, name),
      default: defaults[name],
    }));
}

function summaryOf(known: Known, name: string): string {
  const texts = known.getInternalMethods().getUsageInstance().getDescriptions();
  return (texts[name] ?? '').replace('__yargsString__:', '');
}

function choicesOf(known: Known, name: string): string[] {
  return (known.getOptions().choices[name] ?? []).map(String);
}
