/** `-o`, of every command that a script may read. */
export const outputOption = {
  alias: 'o',
  choices: ['text', 'json'],
  default: 'text',
  describe: 'json: for scripts and monitoring',
} as const;

/** Of every command that a timer runs. */
export const textfileOption = {
  type: 'string',
  requiresArg: true,
  describe: "Write metrics here, for node_exporter's textfile collector",
} as const;
