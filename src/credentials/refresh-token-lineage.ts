import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { firstDirectoryNames } from '../system/user-file.ts';

/**
 * A refresh token that descends from the portal's. All clusters with the same client renew with
 * descendants of one token; if refresh tokens are single-use, each renewal invalidates the others' copies.
 */
export interface DescendantToken {
  readonly refreshToken: string;
  /** The portal's refresh token (`refreshTokenDigest`). */
  readonly origin: string;
  /** How many renewals lie between the two; 0 if absent. */
  readonly turn?: number;
}

/** How a refresh token is recognized without being stored: its SHA-256 in hex. */
export function refreshTokenDigest(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex');
}

/** The descendant after the most renewals: the others have been used to get it. */
export function newestDescendant(
  origin: string,
  candidates: readonly Partial<DescendantToken>[],
): DescendantToken | undefined {
  return candidates
    .filter(
      (one): one is DescendantToken => one.origin === origin && one.refreshToken !== undefined,
    )
    .reduce<DescendantToken | undefined>(
      (newest, one) => (newest && (newest.turn ?? 0) >= (one.turn ?? 0) ? newest : one),
      undefined,
    );
}

/**
 * The lock to hold while a refresh token is used: one for all descendants of a portal's token, whichever
 * cluster they are for.
 *
 * @param path of the credential
 */
export function renewalLock(path: string, origin: string | undefined): string {
  return origin !== undefined && /^[0-9a-f]{64}$/.test(origin)
    ? join(dirname(path), `session-${origin.slice(0, 32)}.lock`)
    : `${path}.lock`;
}

/** Limits: root reads these files, and a directory of the user's may hold any number of them. */
const maximumFiles = 64;
const maximumEntries = 1_024;

/** The user's credentials for other clusters, which are in the same directory. */
export async function otherCredentialFiles(path: string): Promise<string[]> {
  const files = await listCredentialFiles(dirname(path));
  return files.filter((file) => file !== path);
}

/** The credential files in a directory: at most 64, of its first 1,024 entries. */
export async function listCredentialFiles(directory: string): Promise<string[]> {
  const names = await firstDirectoryNames(directory, maximumEntries);
  const files = names.filter((name) => name.endsWith('.json')).slice(0, maximumFiles);
  return files.map((name) => join(directory, name));
}
