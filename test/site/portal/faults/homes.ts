import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from '../../../rig/site/accounts.ts';
import type { Portal } from '../../../rig/site/portal.ts';

/** Removes everything from a test account's home. */
export async function emptyHome({ home }: Account): Promise<void> {
  for (const name of await readdir(home)) await rm(join(home, name), { recursive: true });
}

/** Locks and temporary files below the home and in the state directory; none may remain. */
export async function leftovers({ home }: Account, { files }: Portal): Promise<string[]> {
  const all = await Promise.all(
    [home, files.stateDir].map(async (directory) => {
      const names = await readdir(directory, { recursive: true });
      return names.map((name) => join(directory, name));
    }),
  );
  return all.flat().filter((path) => /\.(lock|tmp|new|takeover|now)(\.|$)|\.berth-/.test(path));
}
