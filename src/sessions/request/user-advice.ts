import type { BerthError } from '../../system/errors/berth-error.ts';

/**
 * What a user without a session can do next. The error's own hint is for the admin, in syslog under the same
 * session number: it usually names commands and files of root.
 */
export function userAdvice({ forUser, hint, exit }: BerthError): string {
  // The catalogue says behind that word what the user cannot do.
  if (forUser) return hint.replace(/ Admins: .*$/, '');
  const ask =
    'send this line to the admins of this machine: its syslog has the cause (berth trace)';
  return exit === 'temporary'
    ? `Try again in a few minutes. If it happens again, ${ask}.`
    : `Please ${ask}.`;
}
