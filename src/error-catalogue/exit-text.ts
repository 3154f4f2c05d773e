import { exitClasses, type ErrorCode, type LogCode } from '../error-codes.ts';
import { exitCodes } from '../exit-codes.ts';

/** The exit statuses of an error with this code; none for a warning. */
export function exitStatuses(code: LogCode): number[] {
  return isError(code) ? [exitClasses[code]].flat().map((exit) => exitCodes[exit]) : [];
}

/** `exit status 75`, `exit status 67 or exit status 75`, or `warning`. */
export function exitText(code: LogCode): string {
  const texts = exitStatuses(code).map((status) => `exit status ${status}`);
  return texts.length === 0 ? 'warning' : texts.join(' or ');
}

function isError(code: LogCode): code is ErrorCode {
  return code in exitClasses;
}
