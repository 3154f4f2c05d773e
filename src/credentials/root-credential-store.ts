import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '../system/errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { readPrivateFile } from '../system/private-file.ts';
import { listCredentialFiles, renewalLock } from './refresh-token-lineage.ts';
import { parsedJson } from '../system/text/parsed-json.ts';

/**
 * Root's copy of a user's credential for a cluster. It holds the refresh token of a confidential client,
 * which the user must not have. The client secret is not in it but is read from the configuration each
 * time, so that a changed secret takes effect at once.
 */
export interface StoredCredential {
  readonly version: 1;
  readonly username: string;
  /** ID of the login at the portal that it is from. */
  readonly session?: string;
  /** Who issued the token and the refresh token, and the only one that may be sent it. Absent for a ServiceAccount's. */
  readonly issuer?: string;
  /** The token, which the user has too. */
  readonly token: string;
  /** When `token` expires, in seconds since the epoch. */
  readonly expiry: number;
  /** Absent for a ServiceAccount's token, and if the portal passed on no refresh token. */
  readonly refreshToken?: string;
  /** True if a token exchange issued the refresh token for this cluster: the portal does not use it. */
  readonly own?: boolean;
  /** SHA-256 of the portal's refresh token that this one descends from; with `own`, of the first own one. */
  readonly origin?: string;
  /** How many renewals lie between the two, see `DescendantToken`. */
  readonly turn?: number;
}

const maximumBytes = 256 * 1024;

/** The path of a user's credential for a cluster. @throws {BerthError} `cluster-name-invalid` */
export function storedCredentialPath(stateDir: string, uid: number, cluster: string): string {
  if (!/^[A-Za-z0-9_][\w.@ -]{0,99}$/.test(cluster)) {
    throw new BerthError(
      'cluster-name-invalid',
      `'${escapeControl(cluster).slice(0, 120)}' is not the name of a cluster`,
    );
  }
  return join(credentialsDirectory(stateDir, uid), `${cluster}.json`);
}

/** The lock to hold while renewing: one for all clusters whose refresh tokens have the same origin. */
export function storedCredentialLock(
  path: string,
  { own, origin }: Pick<StoredCredential, 'own' | 'origin'>,
): string {
  return renewalLock(path, own === true ? undefined : origin);
}

/** The directory of a user's credentials. */
export function credentialsDirectory(stateDir: string, uid: number): string {
  return join(stateDir, 'credentials', String(uid));
}

/**
 * The stored credentials of other accounts that had this UID before.
 *
 * @param name the account that has the UID now
 * @throws {BerthError} what `readPrivateFile` throws
 */
export async function credentialsOfFormerOwners(
  stateDir: string,
  uid: number,
  name: string,
): Promise<string[]> {
  const paths = await listCredentialFiles(credentialsDirectory(stateDir, uid));
  return paths.filter((path) => ![undefined, name].includes(readStoredCredential(path)?.username));
}

/** Removes `credentialsOfFormerOwners`. @throws {BerthError} as it, and errors of unlink(2) */
export async function removeFormerOwners(
  stateDir: string,
  uid: number,
  name: string,
): Promise<void> {
  for (const path of await credentialsOfFormerOwners(stateDir, uid, name)) {
    // The second is the note of a failed renewal.
    for (const file of [path, `${path}.failed`]) await rm(file, { force: true });
  }
}

/**
 * @returns undefined if there is no file or it is incomplete: the next hook writes it
 * @throws {BerthError} what `readPrivateFile` throws
 */
export function readStoredCredential(path: string): StoredCredential | undefined {
  const text = readPrivateFile(path, 0, maximumBytes);
  if (text === undefined) return undefined;
  const stored = parsedJson(text) as Partial<StoredCredential> | null | undefined;
  const isComplete =
    stored?.version === 1 &&
    typeof stored.username === 'string' &&
    typeof stored.token === 'string' &&
    typeof stored.expiry === 'number';
  return isComplete ? (stored as StoredCredential) : undefined;
}
