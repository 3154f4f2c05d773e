import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { credentialsFolder, forgetFormer } from './root-store.ts';
import type { Logger } from '../log.ts';
import { namesIn } from '../system/names-in.ts';

export interface ForgetDeps {
  /** The name that a UID has now (`nameOfUid`). */
  readonly nameOf: (uid: number) => Promise<string | undefined>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
}

/**
 * A directory service that is down looks like an account that has ended: what was written since then
 * stays, so that an outage costs nobody who works a login. Milliseconds.
 */
const quietMs = 24 * 3_600_000;

/**
 * Removes what root keeps of the credentials of accounts that have ended, and of those whose UID another
 * person has now.
 *
 * @throws what `nameOf` and `forgetFormer` throw, and errors of the file system
 */
export async function forgetEnded(stateDir: string, deps: ForgetDeps): Promise<void> {
  for (const entry of namesIn(join(stateDir, 'credentials'))) {
    if (!/^\d{1,10}$/.test(entry)) continue;
    const uid = Number(entry);
    const name = await deps.nameOf(uid);
    if (name !== undefined) {
      await forgetFormer(stateDir, uid, name);
      continue;
    }
    const folder = credentialsFolder(stateDir, uid);
    // Each write of a credential replaces a file in it.
    if (deps.now() - (await stat(folder)).mtimeMs < quietMs) continue;
    await rm(folder, { recursive: true });
    deps.log.info('stored credentials removed: no account has this UID', { uid });
  }
}
