import { opendirSync } from 'node:fs';
import { dirname, join } from 'node:path';

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

/** A user has as many as clusters; the folder is the user's, who can put anything into it. */
const mostSiblings = 64;
const mostNames = 1_000;

/** The credentials of the user's other clusters, which are in the same folder. */
export function siblings(path: string): string[] {
  const found: string[] = [];
  try {
    const folder = opendirSync(dirname(path));
    try {
      for (let read = 0; read < mostNames && found.length < mostSiblings; read += 1) {
        const entry = folder.readSync();
        if (entry === null) break;
        const sibling = join(dirname(path), entry.name);
        if (entry.name.endsWith('.json') && sibling !== path) found.push(sibling);
      }
    } finally {
      folder.closeSync();
    }
  } catch {
    // No folder yet.
  }
  return found;
}
