/** The values in the words of a list: each word may have several, separated by commas. */
export function listValues(words: readonly string[]): string[] {
  return words.flatMap((word) => word.split(',').filter((one) => one !== ''));
}

/** Of each option that takes several values: repeated, or separated by blanks or commas. */
export const listOption = {
  type: 'string',
  array: true,
  requiresArg: true,
  coerce: listValues,
} as const;

/** `-o`, for each command whose output scripts may read. */
export const outputOption = {
  alias: 'o',
  choices: ['text', 'json'],
  default: 'text',
  describe: 'Format; json is for scripts and monitoring',
} as const;

/** For each command that can say what it would do. Its dry run ends with `dryRunText`. */
export function dryRunOption<Describe extends string>(describe: Describe) {
  return { type: 'boolean', default: false, describe } as const;
}

/** For each command that a timer runs. */
export const textfileOption = {
  type: 'string',
  requiresArg: true,
  describe:
    'File for metrics, for the textfile collector of node_exporter; --textfile=-FILE: only if its directory is there',
} as const;

/** For each command that a CronJob of a cluster runs. */
export const inClusterOption = {
  type: 'boolean',
  describe: 'Run inside a pod: use its own cluster and its ServiceAccount',
} as const;
