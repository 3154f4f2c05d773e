import type { Argv, CommandModule, Options, PositionalOptions } from 'yargs';
import { globalOptions } from './global-options.ts';
import { type ValueKind, valueKind } from './option-values.ts';

/** A command with its options and its own commands, as its help shows them. */
export interface CommandNode {
  readonly name: string;
  /** The name with its arguments: `show <session..>`. */
  readonly synopsis: string;
  readonly summary: string;
  /** Title of the group in which the help of `berth` lists it; may be empty. */
  readonly group: string;
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
  /** Whether several values can follow it. */
  readonly isList: boolean;
  readonly isNumber: boolean;
  readonly kind: ValueKind | undefined;
  readonly choices: readonly string[];
  readonly default: unknown;
  /** Not in help. */
  readonly hidden: boolean;
  /** The option that has taken its place. */
  readonly replacedBy: string | undefined;
}

export interface PositionalNode {
  readonly name: string;
  readonly summary: string;
  readonly kind: ValueKind | undefined;
  readonly choices: readonly string[];
}

/** Commands by the title of their group. */
export type CommandGroups = Readonly<Record<string, readonly CommandModule[]>>;

/** Describes commands by running their builders, which read and change nothing. */
export function commandTree(groups: CommandGroups): CommandNode {
  const root = recorded((yargs: Argv) =>
    globalOptions(yargs).option('version', { type: 'boolean', describe: 'Show version number' }),
  );
  return {
    ...{ name: 'berth', synopsis: '', summary: '', group: '', examples: rootExamples },
    ...{ epilogue: rootEpilogue, options: optionsOf(root, []), positionals: [] },
    commands: Object.entries(groups).flatMap(([group, modules]) =>
      modules.map((module) => nodeOf(module, [], group)),
    ),
  };
}

const rootExamples = [
  ['berth doctor', 'Check the site, and print what to do'],
  ['berth plan --user alice', 'Print what the next login of alice would change'],
  ['berth render --user alice', 'Print the objects of alice without a cluster'],
  ['berth token rotate', "Renew the hook's token on all clusters"],
] as const;

const rootEpilogue =
  'Each error has a code in brackets; `berth explain CODE` explains what happened, why, and what to do. Exit statuses: berth(8).';

function nodeOf(module: CommandModule, above: readonly string[], group = ''): CommandNode {
  const synopsis = String(module.command);
  const name = synopsis.split(' ', 1)[0] ?? '';
  const path = [...above, name];
  const record = recorded(module.builder);
  const { examples, epilogue } = record;
  return {
    ...{ name, synopsis, group, examples, epilogue },
    summary: typeof module.describe === 'string' ? module.describe : '',
    options: optionsOf(record, path),
    positionals: record.positionals.map(([own, spec]) => ({
      ...{ name: own, summary: spec.describe ?? '', choices: (spec.choices ?? []).map(String) },
      kind: valueKind(path, [own]),
    })),
    commands: record.commands.map((own) => nodeOf(own, path)),
  };
}

interface Recorded {
  readonly options: [string, Options][];
  readonly positionals: [string, PositionalOptions][];
  readonly commands: CommandModule[];
  readonly examples: [string, string][];
  epilogue: string;
}

/** What a builder declares: yargs does not give it back. */
function recorded(builder: unknown): Recorded {
  const record: Recorded = {
    ...{ options: [], positionals: [], commands: [], examples: [], epilogue: '' },
  };
  const methods: Readonly<Record<string, (...args: never[]) => unknown>> = {
    option: (name: string, spec: Options) => record.options.push([name, spec]),
    options: (specs: Record<string, Options>) => record.options.push(...Object.entries(specs)),
    positional: (name: string, spec: PositionalOptions) => record.positionals.push([name, spec]),
    command: (module: CommandModule) => record.commands.push(module),
    example: (line: string, meaning: string) => record.examples.push([line, meaning]),
    epilogue: (text: string) => (record.epilogue = text),
  };
  const parser = new Proxy(
    {},
    {
      get:
        (_, method) =>
        (...args: never[]) => {
          methods[String(method)]?.(...args);
          return parser;
        },
    },
  ) as Argv;
  if (typeof builder === 'function') (builder as (parser: Argv) => unknown)(parser);
  return record;
}

function optionsOf({ options }: Recorded, path: readonly string[]): OptionNode[] {
  return options.map(([name, spec]) => {
    const { alias = [], type, array, choices = [], deprecated } = spec;
    const names = [name, ...[alias].flat()].map((one) =>
      one.length === 1 ? `-${one}` : `--${one}`,
    );
    return {
      ...{ names, summary: spec.describe ?? '', takesValue: type !== 'boolean' },
      ...{ isList: array === true, isNumber: type === 'number', kind: valueKind(path, names) },
      ...{ choices: choices.map(String), default: spec.default as unknown },
      hidden: spec.hidden === true,
      replacedBy: typeof deprecated === 'string' ? deprecated : undefined,
    };
  });
}

/** Those that help shows. */
export function shownOptions({ options }: CommandNode): readonly OptionNode[] {
  return options.filter(({ hidden }) => !hidden);
}
