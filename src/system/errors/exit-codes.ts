/** The exit statuses of every program of Berth, from sysexits(3). */
export const exitCodes = {
  /** EX_USAGE: the command line is wrong. */
  usage: 64,
  /** EX_NOUSER: no such account. */
  nouser: 67,
  /** EX_UNAVAILABLE: a service is missing, or answered with an error that will not go away. */
  unavailable: 69,
  /** EX_SOFTWARE: a defect of Berth. */
  software: 70,
  /** EX_OSERR, EX_IOERR: the machine failed (disk full, I/O error). */
  io: 74,
  /** EX_TEMPFAIL: the next attempt may succeed without any change. */
  temporary: 75,
  /** EX_NOPERM: a user or a program is not allowed to do this. */
  permission: 77,
  /** EX_CONFIG: the configuration of the site is wrong. */
  config: 78,
} as const;

export type ExitClass = keyof typeof exitCodes;
