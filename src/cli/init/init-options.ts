import type { Argv } from 'yargs';
import { dryRunOption, outputOption } from '../kit/report-options.ts';

/** Options of every `berth init`. */
export interface FlowArguments {
  readonly yes: boolean;
  readonly 'dry-run': boolean;
  readonly output: string;
}

/** Adds the options that each `berth init` has. */
export function flowOptions<T>(yargs: Argv<T>): Argv<T & FlowArguments> {
  return yargs
    .option('yes', {
      type: 'boolean',
      default: false,
      describe: 'Do not ask: use the defaults, and leave files that somebody has edited',
    })
    .option('dry-run', dryRunOption('Print what would be written and run, and do nothing'))
    .option('output', outputOption);
}
