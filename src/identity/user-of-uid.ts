import { userInfo } from 'node:os';
import { lookupUser } from './nss.ts';
import type { User } from './user.ts';

/**
 * Looks up the account with this UID in NSS. Only for root.
 *
 * @returns undefined if there is none; this cannot be told from a directory service that is down
 * @throws {BerthError} as `lookupUser`
 */
export function userOfUid(uid: number): User | undefined {
  const name = nameOf(uid);
  if (name === undefined) return undefined;
  const user = lookupUser(name, { minimumUid: 1 });
  return user.uid === uid ? user : undefined;
}

/** getpwuid of the effective user: the process has that UID for some microseconds. */
function nameOf(uid: number): string | undefined {
  process.seteuid?.(uid);
  try {
    return userInfo().username;
  } catch {
    return undefined;
  } finally {
    process.seteuid?.(0);
  }
}
