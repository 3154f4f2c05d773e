import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { readPrivateFile } from '../system/private-file.ts';
import { credentialFiles, renewalLock } from './refresh-token-lineage.ts';

/**
 * What root keeps of a user's credential for a cluster, where the user may not have all of it: the
 * refresh token of a confidential client. The client's secret is not here; it is read from the
 * site's configuration each time, so that a new one counts at once.
 */
export interface StoredCredential {
  readonly version: 1;
  readonly username: string;
  /** The credential itself, as the user has it too. */
  readonly token: string;
  /** End of `token`, in seconds since the epoch. */
  readonly expiry: number;
  /** Absent for what needs none: a ServiceAccount's token, a login without refresh tokens. */
  readonly refreshToken?: string;
  /** True where an exchange gave the refresh token: it is this cluster's alone, not the portal's. */
  readonly own?: boolean;
  /** SHA-256 of the portal's refresh token that this one descends from; of its own first one where `own`. */
  readonly origin?: string;
  /** How many renewals it is away from that one, see `Heir`. */
  readonly turn?: number;
}

const maximumBytes = 256 * 1024;

/** The file of a user and a cluster. @throws {BerthError} `cluster-name-invalid` */
export function storePath(stateDir: string, uid: number, cluster: string): string {
  if (!/^[A-Za-z0-9_][\w.@ -]{0,99}$/.test(cluster)) {
    throw new BerthError(`'${escapeControl(cluster).slice(0, 120)}' is not the name of a cluster`, {
      code: 'cluster-name-invalid',
      exit: 'usage',
      hint: 'A cluster’s name is the name of its file in clusters.d without .yml: letters, digits, _ . @ - and blanks.',
    });
  }
  return join(credentialsFolder(stateDir, uid), `${cluster}.json`);
}

/** The lock of who renews it: one for all clusters that renew with what came of the same refresh token. */
export function storeLock(
  path: string,
  { own, origin }: Pick<StoredCredential, 'own' | 'origin'>,
): string {
  return renewalLock(path, own === true ? undefined : origin);
}

/** The folder of a user's credentials. */
export function credentialsFolder(stateDir: string, uid: number): string {
  return join(stateDir, 'credentials', String(uid));
}

/**
 * Removes what was kept of a person who had the UID before: all that another name stands in.
 *
 * @param name who has it now
 * @throws {BerthError} what `readPrivateFile` throws, and errors of rm(1).
 */
export async function forgetFormer(stateDir: string, uid: number, name: string): Promise<void> {
  for (const path of await credentialFiles(credentialsFolder(stateDir, uid))) {
    const stored = readStored(path);
    if (stored === undefined || stored.username === name) continue;
    // With the note of a renewal that failed.
    for (const file of [path, `${path}.failed`]) await rm(file, { force: true });
  }
}

/**
 * @returns Nothing where there is none, or none that is whole: the next login makes it.
 * @throws {BerthError} what `readPrivateFile` throws.
 */
export function readStored(path: string): StoredCredential | undefined {
  const text = readPrivateFile(path, 0, maximumBytes);
  if (text === undefined) return undefined;
  try {
    const stored = JSON.parse(text) as Partial<StoredCredential> | null;
    const whole =
      stored?.version === 1 &&
      typeof stored.username === 'string' &&
      typeof stored.token === 'string' &&
      typeof stored.expiry === 'number';
    return whole ? (stored as StoredCredential) : undefined;
  } catch {
    return undefined;
  }
}
