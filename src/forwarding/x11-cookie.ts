import { cookieFields, cookieOf } from './protocol/xauthority.ts';
import { readUserFile } from '../system/user-file.ts';

/** An entry has about fifty bytes, and after years a file has some hundred of them. Bytes. */
const longestFile = 256 * 1024;

/**
 * The cookie of a display from the user's Xauthority file, in base64, in the form that the entry for another display
 * needs. The pod can write the home too, so the file may be anything.
 *
 * @returns undefined if there is none
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
