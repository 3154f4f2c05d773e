import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { configError } from '../../config/schema/config-error.ts';
import { expectErrno, type BerthError } from '../../system/errors/berth-error.ts';
import { readAtMost } from '../../system/user-file.ts';

/** Bytes; far more than any configuration of sshd or PAM. */
const longest = 1024 * 1024;
const headLength = 256;

/**
 * Reads a file that a configuration names and that any user may own: reading never blocks and is limited.
 *
 * @param missing Hint if the file does not exist.
 * @throws {BerthError} `config-missing`, `config-unreadable`
 */
export async function readConfigText(file: string, missing: string): Promise<string> {
  try {
    return await withRegularFile(file, async (opened, { size }) => {
      if (size > longest)
        throw unreadable(file, `it is longer than ${longest} bytes`, 'Shorten it.');
      return (await readAtMost(opened, size)).toString('utf8');
    });
  } catch (cause) {
    expectErrno(cause);
    if (cause.code === 'ENOENT')
      throw configError('config-missing', file, 'does not exist', missing);
    throw unreadable(file, String(cause.code), 'Run it as root.');
  }
}

/** The start of a program, enough for its `#!` line. @throws errors of open(2); `config-unreadable` */
export function readProgramHead(file: string): Promise<string> {
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
    if (!status.isFile())
      throw unreadable(file, 'it is not a regular file', 'Replace it with a regular file.');
    return await work(opened, status);
  } finally {
    await opened.close();
  }
}

function unreadable(file: string, why: string, hint: string): BerthError {
  return configError('config-unreadable', file, `cannot be read: ${why}`, hint);
}
