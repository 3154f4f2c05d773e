/** What a word of the command line can name. `sshd-kind` is NAME of berth-sshd@NAME, `explained` what `berth explain` knows. */
export type NameKind =
  | 'user'
  | 'group'
  | 'cluster'
  | 'profile'
  | 'sshd-kind'
  | 'balancer-kind'
  | 'balancer'
  | 'image'
  | 'address'
  | 'explained';

type Placeholder = Uppercase<string>;

/** What a value is, for completion and help; in capitals, what help calls one that this host does not know. */
export type ValueKind = NameKind | 'file' | 'directory' | Placeholder;

/** An option or an argument of a command: fields of yargs, and what its value is. A set of values has no kind. */
export interface OptionSpec {
  readonly type: 'string' | 'number' | 'boolean';
  readonly describe: string;
  readonly kind?: ValueKind | undefined;
  readonly choices?: readonly string[];
  readonly array?: boolean;
  readonly default?: unknown;
  readonly alias?: string | readonly string[];
  readonly demandOption?: boolean;
  readonly requiresArg?: boolean;
  readonly coerce?: (words: readonly string[]) => readonly string[];
  readonly hidden?: boolean;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type Choice<Spec> = Spec extends { readonly choices: readonly (infer Value)[] } ? Value : string;

type ValueOf<Spec> = Spec extends { readonly array: true }
  ? readonly Choice<Spec>[]
  : Spec extends { readonly type: 'boolean' }
    ? boolean
    : Spec extends { readonly type: 'number' }
      ? number
      : Choice<Spec>;

/** The values that a command gets for its options and arguments. */
export type ArgumentsOf<Specs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends
    { readonly default: unknown } | { readonly demandOption: true }
    ? ValueOf<Specs[Name]>
    : ValueOf<Specs[Name]> | undefined;
};

type More = Partial<OptionSpec>;

/** An option with one value. */
export function text<const Own extends More = object>(
  kind: ValueKind,
  describe: string,
  more = {} as Own,
) {
  return { type: 'string' as const, requiresArg: true, kind, describe, ...more };
}

/** An option with one value of a few. */
export function choice<const Values extends readonly string[], const Own extends More = object>(
  choices: Values,
  describe: string,
  more = {} as Own,
) {
  return { type: 'string' as const, requiresArg: true, choices, describe, ...more };
}

export function number<const Own extends More = object>(
  kind: Placeholder,
  describe: string,
  more = {} as Own,
) {
  return { type: 'number' as const, requiresArg: true, kind, describe, ...more };
}

export function flag<const Own extends More = object>(describe: string, more = {} as Own) {
  return { type: 'boolean' as const, default: false, describe, ...more };
}

/** An option that takes several values: repeated, or separated by blanks or commas. */
export function list<const Own extends More = object>(
  kind: ValueKind | undefined,
  describe: string,
  more = {} as Own,
) {
  return {
    type: 'string' as const,
    array: true as const,
    requiresArg: true,
    coerce: listValues,
    kind,
    describe,
    ...more,
  };
}

/** An argument of which there may be several. */
export function words(kind: ValueKind | undefined, describe: string) {
  return { type: 'string' as const, array: true as const, kind, describe };
}

/** The values in the words of a list: each word may have several, separated by commas. */
export function listValues(given: readonly string[]): string[] {
  return given.flatMap((word) => word.split(',').filter((one) => one !== ''));
}

/** `-o`, for each command whose output scripts may read. */
export const outputOption = choice(['text', 'json'], 'Format; json is for scripts and monitoring', {
  alias: 'o',
  default: 'text',
});

/** The same for objects of Kubernetes. */
export const manifestOutputOption = choice(['yaml', 'json'], 'Format', {
  alias: 'o',
  default: 'yaml',
});

/** For each command that a timer runs. */
export const textfileOption = text(
  'file',
  'File for metrics, for the textfile collector of node_exporter; --textfile=-FILE: only if its directory is there',
);

/** For each command that a CronJob of a cluster runs. */
export const inClusterOption = flag('Run inside a pod: use its own cluster and its ServiceAccount');

/** Options of every command. */
export const globalOptions = {
  debug: {
    type: 'boolean',
    alias: ['v', 'verbose'],
    describe: 'Print requests, commands that are run, and where an error came from',
  },
  quiet: { type: 'boolean', alias: 'q', describe: 'Print results and errors only, no progress' },
  help: { type: 'boolean', alias: 'h', describe: 'Show help' },
} as const satisfies OptionSpecs;

export function isPlaceholder(kind: ValueKind): kind is Placeholder {
  return kind === kind.toUpperCase();
}

/** How help names a value: `FILE`, `text|json`. */
export function placeholderOf(
  kind: ValueKind | undefined,
  choices: readonly string[] = [],
): string {
  if (choices.length > 0) return choices.join('|');
  if (kind === 'directory') return 'DIR';
  return kind === undefined ? 'VALUE' : kind.replace(/^.*-/, '').toUpperCase();
}
