import { exitClasses, type ErrorCode } from './error-codes.ts';
import { exitCodes, type ExitClass } from './exit-codes.ts';
import { nextStep } from './next-step.ts';

export type { ErrorCode, ExitClass };

export interface ErrorDetails {
  /** Only where the first class of the code in `exitClasses` does not apply. */
  readonly exit?: ExitClass;
  /** One line: what to do next, where the place knows more than the catalogue (docs/errors.md). */
  readonly hint?: string | undefined;
  /** True if the hint is also for the user of the session. */
  readonly forUser?: boolean;
  /** Fields for the log (`cluster`, `file`, `line`); never a secret. */
  readonly fields?: Readonly<Record<string, string | number>>;
  readonly cause?: unknown;
}

/** An error with a code and a next step. The message is one line: what was attempted, and what came back. */
export class BerthError extends Error {
  override readonly name = 'BerthError';
  readonly code: ErrorCode;
  readonly exit: ExitClass;
  readonly forUser: boolean;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly #hint: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    { exit, hint, forUser = false, fields = {}, cause }: ErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    const classes = exitClasses[code];
    this.exit = exit ?? (typeof classes === 'string' ? classes : classes[0]);
    this.#hint = hint;
    this.forUser = forUser;
    this.fields = fields;
  }

  /** One line: what to do next. */
  get hint(): string {
    return this.#hint ?? nextStep(this.code);
  }

  /** The process's exit status for this error, sysexits(3). */
  get exitCode(): number {
    return exitCodes[this.exit];
  }
}

/**
 * Any thrown value as a BerthError. One that is not a BerthError becomes `system-error` if it comes from
 * a system call, otherwise `internal-error`, with the original as its cause.
 */
export function asBerthError(thrown: unknown, attempted: string): BerthError {
  if (thrown instanceof BerthError) return thrown;
  const code = isErrno(thrown) ? 'system-error' : 'internal-error';
  return new BerthError(code, `${attempted}: ${messageOf(thrown)}`, { cause: thrown });
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The `code` of an error of Node or OpenSSL; empty if it has none. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

/** The same error with another next step. @param cause for the log; default: none */
export function withHint(error: BerthError, hint: string, cause?: unknown): BerthError {
  const { message, code, exit, fields } = error;
  return new BerthError(code, message, { exit, hint, fields, cause });
}

/** True for the errors of node:fs and node:net, which carry a `code` such as `ENOENT`. */
export function isErrno(thrown: unknown, ...codes: string[]): thrown is NodeJS.ErrnoException {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('syscall' in thrown)) return false;
  return codes.length === 0 || codes.includes(String(thrown.code));
}

/** Throws again what is not a system error, or not one of these codes. */
export function expectErrno(
  thrown: unknown,
  ...codes: string[]
): asserts thrown is NodeJS.ErrnoException {
  if (!isErrno(thrown, ...codes)) throw thrown;
}

/** Throws again what is not an error of Berth. */
export function expectBerthError(thrown: unknown): asserts thrown is BerthError {
  if (!(thrown instanceof BerthError)) throw thrown;
}
