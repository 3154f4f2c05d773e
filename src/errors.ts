import type { ErrorCode } from './error-catalogue/catalogue.ts';
import { exitCodes, type ExitClass } from './exit-codes.ts';

export type { ErrorCode, ExitClass };

export interface ErrorDetails {
  readonly code: ErrorCode;
  readonly exit: ExitClass;
  /** One line for the admin: what to do next. */
  readonly hint: string;
  /** True where the hint is for the user who meets the error in a session, too. */
  readonly forUser?: boolean;
  /** Facts for the log (`cluster`, `file`, `line`); never a secret. */
  readonly fields?: Readonly<Record<string, string | number>>;
  readonly cause?: unknown;
}

/** One line of what was attempted and what came back, with a code and the next step. */
export class BerthError extends Error {
  override readonly name = 'BerthError';
  readonly code: ErrorCode;
  readonly exit: ExitClass;
  readonly hint: string;
  readonly forUser: boolean;
  readonly fields: Readonly<Record<string, string | number>>;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.exit = details.exit;
    this.hint = details.hint;
    this.forUser = details.forUser ?? false;
    this.fields = details.fields ?? {};
  }

  /** The process's exit status for this error, sysexits(3). */
  get exitCode(): number {
    return exitCodes[this.exit];
  }
}

/**
 * Anything thrown, as a BerthError: what is not one already is a defect of ours or of the machine,
 * and is reported as such with the original kept as its cause.
 */
export function asBerthError(thrown: unknown, attempted: string): BerthError {
  if (thrown instanceof BerthError) return thrown;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const errno = isErrno(thrown);
  return new BerthError(`${attempted}: ${reason}`, {
    code: errno ? 'system-error' : 'internal-error',
    exit: errno ? 'io' : 'software',
    hint: errno
      ? 'Look at the file or service that is named; run `berth doctor` for the whole picture.'
      : 'This is a defect of Berth: report it with this line.',
    cause: thrown,
  });
}

/** True for the errors of node:fs and node:net, which carry a `code` such as `ENOENT`. */
export function isErrno(thrown: unknown, ...codes: string[]): thrown is NodeJS.ErrnoException {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('syscall' in thrown)) return false;
  return codes.length === 0 || codes.includes(String(thrown.code));
}
