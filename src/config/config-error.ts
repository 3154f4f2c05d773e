import { BerthError } from '../errors.ts';

/** A fault in a configuration file: exit 78, the file in the message and in the fields. */
export function configError(
  code: string,
  file: string,
  message: string,
  hint: string,
  fields: Readonly<Record<string, string | number>> = {},
): BerthError {
  const line = fields.line === undefined ? '' : `:${fields.line}`;
  return new BerthError(`${file}${line}: ${message}`, {
    code,
    exit: 'config',
    hint,
    fields: { file, ...fields },
  });
}
