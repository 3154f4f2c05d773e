/** `-o`, for each command whose output scripts may read. */
export const outputOption = {
  alias: 'o',
  choices: ['text', 'json'],
  default: 'text',
  describe: 'Format; json is for scripts and monitoring',
} as const;

/** For each command that a timer runs. */
export const textfileOption = {
  type: 'string',
  requiresArg: true,
  describe: 'File for metrics, for the textfile collector of node_exporter',
} as const;
