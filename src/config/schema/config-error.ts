import { BerthError, type ErrorCode } from '../../errors/berth-error.ts';
import type { ProblemMessage, Locate, Position } from './config-problem.ts';

/** An error in a configuration file, exit code 78, with the file in the message and in the fields. */
export function configError(
  code: ErrorCode,
  file: string,
  message: string,
  hint: string,
  fields: Readonly<Record<string, string | number>> = {},
): BerthError {
  return new BerthError(`${written(file, fields)}: ${message}`, {
    code,
    exit: 'config',
    hint,
    fields: { file, ...fields },
  });
}

/** All problems of a file in one error, each with FILE:LINE:COLUMN. The fields are those of the first. */
export function configProblemsError(
  code: ErrorCode,
  { file, place }: { readonly file: string; readonly place: Locate },
  complaints: readonly ProblemMessage[],
  hint: string,
  fields: Readonly<Record<string, string | number>> = {},
): BerthError {
  const located = complaints.map((complaint) => ({ ...complaint, at: place(complaint) }));
  const [first, ...others] = located;
  const rest = others.map(
    ({ text, at }) => `; ${at === undefined ? '' : `${written(file, at)}: `}${text}`,
  );
  const message = `${first?.text ?? ''}${rest.join('')}`;
  return configError(code, file, message, hint, { ...first?.at, ...fields });
}

function written(
  file: string,
  { line, column }: Partial<Position> | Readonly<Record<string, string | number>>,
): string {
  return [file, line, column].filter((part) => part !== undefined).join(':');
}
