import { BerthError, type ErrorDetails } from '../errors.ts';

/** An error that is kept in a file: all but its cause. */
export interface PlainError extends Omit<Required<ErrorDetails>, 'cause'> {
  readonly message: string;
}

export function toPlain(error: BerthError): PlainError {
  const { message, code, exit, hint, forUser, fields } = error;
  return { message, code, exit, hint, forUser, fields };
}

export function fromPlain(error: PlainError): BerthError {
  return new BerthError(error.message, error);
}
