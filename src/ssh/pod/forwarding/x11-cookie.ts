import { cookieFields, cookieOf } from './protocol/xauthority.ts';
import { readUserFile } from '../../../system/user-file.ts';

/** A display's entry has some fifty bytes; who forwards for years has some hundred of them. */
const longestFile = 256 * 1024;

/**
 * The cookie of a display from the user's own file, as the entry of another one takes it, in base64. A home
 * is the pod's as well: the file may be anything.
 *
 * @returns Nothing where there is none.
 * @throws {BerthError} `user-file-unsafe`, `user-file-too-large`, `user-file-unreadable`
 */
export async function x11Cookie(
  path: string,
  display: number,
  uid: number,
): Promise<string | undefined> {
  const bytes = await readUserFile(path, { uid, maximumBytes: longestFile });
  const cookie = bytes && cookieOf(bytes, display);
  return cookie && cookieFields(cookie).toString('base64');
}
