import { userInfo } from 'node:os';
import { lookupUser } from './nss.ts';
import type { User } from './user.ts';

/**
 * The account with this UID as NSS has it; for root only.
 *
 * @returns Nothing where there is none, which looks the same while the directory service is down.
 * @throws as `lookupUser`
 */
export function userOfUid(uid: number): User | undefined {
  const name = nameOf(uid);
  if (name === undefined) return undefined;
  const user = lookupUser(name, { minimumUid: 1 });
  return user.uid === uid ? user : undefined;
}

/** getpwuid of the effective user: the process is that user for some microseconds. */
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
