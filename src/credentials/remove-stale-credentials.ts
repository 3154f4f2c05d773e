import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  credentialsDirectory,
  credentialsOfFormerOwners,
  removeFormerOwners,
} from './root-credential-store.ts';
import type { Logger } from '../log.ts';
import { directoryNames } from '../system/if-present.ts';

export interface RemoveStaleDeps {
  /** The current account name of a UID (`nameOfUid`). */
  readonly nameOf: (uid: number) => Promise<string | undefined>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
  /** Logs what would be removed. */
  readonly dryRun: boolean;
}

/**
 * If the directory service is down, no account exists. So credentials written within this time are kept,
 * and nobody who is working loses them. Milliseconds.
 */
const keepMs = 24 * 3_600_000;

/**
 * Removes root's stored credentials of deleted accounts, and of accounts whose UID now belongs to another.
 *
 * @throws what `nameOf` and `removeFormerOwners` throw, and errors of the file system
 */
export async function removeStaleCredentials(
  stateDir: string,
  deps: RemoveStaleDeps,
): Promise<void> {
  const event = deps.dryRun ? 'stored credentials would be removed' : 'stored credentials removed';
  const report = (why: string, uid: number): void => deps.log.info(event, { uid, why });
  for (const entry of directoryNames(join(stateDir, 'credentials'))) {
    if (!/^\d{1,10}$/.test(entry)) continue;
    const uid = Number(entry);
    const name = await deps.nameOf(uid);
    if (name !== undefined) {
      const former = await credentialsOfFormerOwners(stateDir, uid, name);
      if (former.length === 0) continue;
      if (!deps.dryRun) await removeFormerOwners(stateDir, uid, name);
      report('they are of an account that had this UID before', uid);
      continue;
    }
    const directory = credentialsDirectory(stateDir, uid);
    // Each write of a credential replaces a file, which changes the directory's time.
    if (deps.now() - (await stat(directory)).mtimeMs < keepMs) continue;
    if (!deps.dryRun) await rm(directory, { recursive: true });
    report('no account has this UID', uid);
  }
}
