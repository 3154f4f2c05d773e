import { BerthError } from './berth-error.ts';

/** A mistake on the command line of `command`, such as `berth images pull`, whose help is the next step. */
export function usageError(command: string, message: string): BerthError {
  return new BerthError('usage', message, { hint: `See \`${command} --help\`.` });
}
