import type { Argv } from 'yargs';

/** Options of every command. */
export interface GlobalArguments {
  readonly debug?: boolean | undefined;
  readonly quiet?: boolean | undefined;
}

export function globalOptions<T>(yargs: Argv<T>): Argv<T & GlobalArguments> {
  return yargs
    .option('debug', {
      alias: ['v', 'verbose'],
      type: 'boolean',
      describe: 'Print requests, commands that are run, and where an error came from',
    })
    .option('quiet', {
      alias: 'q',
      type: 'boolean',
      describe: 'Print results and errors only, no progress',
    })
    .option('help', { alias: 'h', type: 'boolean', describe: 'Show help' });
}
