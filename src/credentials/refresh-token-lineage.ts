import { dirname, join } from 'node:path';
import { someNamesIn } from '../system/user-file.ts';

/**
 * A refresh token that came of the portal's. One login gives one of them, and every cluster with the
 * same client renews with it: where it is good once, each renewal spends the token of all.
 */
export interface Heir {
  readonly refreshToken: string;
  /** SHA-256 of the portal's refresh token. */
  readonly origin: string;
  /** How many renewals it is away from the portal's; 0 where absent. */
  readonly turn?: number;
}

/** The one that is still good: the others were spent on the way to it. */
export function newestHeir(origin: string, heirs: readonly Partial<Heir>[]): Heir | undefined {
  return heirs
    .filter((heir): heir is Heir => heir.origin === origin && heir.refreshToken !== undefined)
    .reduce<Heir | undefined>(
      (newest, heir) => (newest && (newest.turn ?? 0) >= (heir.turn ?? 0) ? newest : heir),
      undefined,
    );
}

/** The lock of whoever spends a refresh token: one for a login, whichever cluster it is for. */
export function renewalLock(path: string, origin: string | undefined): string {
  return origin !== undefined && /^[0-9a-f]{64}$/.test(origin)
    ? join(dirname(path), `session-${origin.slice(0, 32)}.lock`)
    : `${path}.lock`;
}

/** A folder of the user's may hold any number of files, and root reads what this returns. */
const mostFiles = 64;
const mostEntries = 1_024;

/** The credentials of the user's other clusters, which are in the same folder. */
export async function siblings(path: string): Promise<string[]> {
  const files = await credentialFiles(dirname(path));
  return files.filter((file) => file !== path);
}

/** Files with credentials in a folder: 64 at most, of its first 1,024 entries. */
export async function credentialFiles(folder: string): Promise<string[]> {
  const names = await someNamesIn(folder, mostEntries);
  const files = names.filter((name) => name.endsWith('.json')).slice(0, mostFiles);
  return files.map((name) => join(folder, name));
}
