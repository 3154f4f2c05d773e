import { isErrno } from '../../src/system/errors/berth-error.ts';

/** For `catch`: the value if a file does not exist. @throws any other error */
export function ifMissing<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (isErrno(error, 'ENOENT')) return instead;
    throw error;
  };
}
