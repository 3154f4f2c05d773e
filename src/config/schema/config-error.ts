import { BerthError, type ErrorCode } from '../../system/errors/berth-error.ts';

/** A problem with one value of a configuration file. */
export interface Problem {
  readonly path: readonly PropertyKey[];
  /** True if the key is wrong, not its value. */
  readonly atKey?: boolean;
}

/** A problem with its message, which names the path as the admin wrote it. */
export interface ProblemMessage extends Problem {
  readonly text: string;
}

/** A path as an admin reads it: entries of lists count from 1, as in the reasons of `berth plan`. */
export function writtenPath(path: readonly PropertyKey[]): string {
  return path.map((step) => String(typeof step === 'number' ? step + 1 : step)).join('.');
}

/** Both count from 1, as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Finds the position of a problem in a file; undefined if the values do not come from a file. */
export type Locate = (problem: Problem) => Position | undefined;

export const noPosition: Locate = () => undefined;

/** An error in a configuration file, exit code 78, with the file in the message and in the fields. */
export function configError(
  code: ErrorCode,
  file: string,
  message: string,
  hint: string | undefined,
  fields: Readonly<Record<string, string | number>> = {},
): BerthError {
  return new BerthError(code, `${written(file, fields)}: ${message}`, {
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
  hint?: string,
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

/** For a command line that names a cluster which is not configured. */
export function unknownCluster(name: string, known: readonly string[]): BerthError {
  return new BerthError(
    'cluster-unknown',
    `unknown cluster ${name}; configured: ${known.join(', ') || 'none'}`,
  );
}
