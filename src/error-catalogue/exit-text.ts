import { exitClasses, type ErrorCode, type LogCode } from '../error-codes.ts';
import { exitCodes } from '../exit-codes.ts';

/** What each exit status of a command, a hook or a session means. */
export const exitStatusTexts: readonly (readonly [status: number, meaning: string])[] = [
  [0, 'Success. Of a check: nothing failed. Of a plan: nothing would change.'],
  [
    1,
    '`plan` and `subid plan`: something would change, as diff(1) returns it. `doctor`, `images check`, `init`, `sshd lint` and `sshd check`: a check failed.',
  ],
  [exitCodes.usage, 'The command line is wrong.'],
  [exitCodes.nouser, 'There is no such user.'],
  [exitCodes.unavailable, 'Something that is needed is not there or does not answer.'],
  [exitCodes.software, 'A defect of Berth. Please report it.'],
  [exitCodes.io, 'The machine failed, for example with a full disk.'],
  [exitCodes.temporary, 'A temporary error. The same command may succeed later.'],
  [exitCodes.permission, 'Not permitted.'],
  [exitCodes.config, 'The configuration is wrong.'],
  [141, 'The reader of standard output ended early, for example `head`.'],
  [255, 'An SSH session could not start, or broke, as ssh(1) returns it.'],
];

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
