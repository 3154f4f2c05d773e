import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { cookieFields, cookieOf } from '../session/bridge/xauthority.ts';

/** A display's entry has some fifty bytes; who forwards for years has some hundred of them. */
const longestFile = 256 * 1024;

/**
 * The cookie of a display from the user's own file, as the entry of another one takes it, in base64. A home
 * is the pod's as well: the file may be anything.
 *
 * @returns Nothing where there is none.
 */
export async function x11Cookie(path: string, display: number): Promise<string | undefined> {
  const cookie = cookieOf(await readBounded(path), display);
  return cookie === undefined ? undefined : cookieFields(cookie).toString('base64');
}

/** A plain file's first bytes. A FIFO does not hold us up, a device has no end, and a link leads anywhere. */
async function readBounded(path: string): Promise<Buffer> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY).catch(
    () => undefined,
  );
  if (file === undefined) return Buffer.alloc(0);
  try {
    const status = await file.stat();
    if (!status.isFile() || status.size > longestFile) return Buffer.alloc(0);
    const bytes = Buffer.alloc(status.size);
    const { bytesRead } = await file.read(bytes);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
