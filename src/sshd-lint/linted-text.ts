import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { configError } from '../config/config-error.ts';
import { type BerthError, isErrno } from '../errors.ts';
import { readAtMost } from '../system/user-file.ts';

/** Bytes; no configuration of sshd or PAM is near it. */
const longest = 1024 * 1024;
const headLength = 256;

/**
 * The text of a file that a configuration names, which may be anybody's: what is no regular file is not
 * waited for, and none is read without end.
 *
 * @param missing What to do where there is none.
 * @throws {BerthError} `config-missing`, `config-unreadable`
 */
export async function lintedText(file: string, missing: string): Promise<string> {
  try {
    return await withRegularFile(file, async (opened, { size }) => {
      if (size > longest)
        throw unreadable(file, `it is longer than ${longest} bytes`, 'Put a shorter file there.');
      return (await readAtMost(opened, size)).toString('utf8');
    });
  } catch (cause) {
    if (!isErrno(cause)) throw cause;
    if (cause.code === 'ENOENT')
      throw configError('config-missing', file, 'does not exist', missing);
    throw unreadable(file, String(cause.code), 'Run it as root.');
  }
}

/** How a program begins: enough for its `#!` line. @throws what `open` throws, `config-unreadable` */
export function lintedHead(file: string): Promise<string> {
  return withRegularFile(file, async (opened) =>
    (await readAtMost(opened, headLength)).toString('latin1'),
  );
}

async function withRegularFile<T>(
  file: string,
  work: (opened: FileHandle, status: Stats) => Promise<T>,
): Promise<T> {
  const opened = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = await opened.stat();
    if (!status.isFile()) throw unreadable(file, 'it is no regular file', 'Put a file there.');
    return await work(opened, status);
  } finally {
    await opened.close();
  }
}

function unreadable(file: string, why: string, hint: string): BerthError {
  return configError('config-unreadable', file, `cannot be read: ${why}`, hint);
}
