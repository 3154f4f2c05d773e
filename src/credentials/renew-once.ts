import { readFileSync, rmSync } from 'node:fs';
import { BerthError, type ErrorCode, type ExitClass } from '../errors.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { takeLock } from '../system/owner-lock.ts';

/** A credential in a file that many processes want to renew at the same moment. */
export interface Renewal<Credential extends { readonly expiry: number }> {
  /** The file; beside it are its lock and a note of the last failure. */
  readonly path: string;
  /** Whoever else spends what this renewal spends holds the same. */
  readonly lock: string;
  readonly read: () => Credential | undefined;
  readonly isFresh: (credential: Credential) => boolean;
  /** Asks for a new one; done within 20 seconds, come what may. */
  readonly renew: (current: Credential) => Promise<Credential>;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** Twice what a renewal may take: a request and its answer of at most 10 seconds, and the write. */
const waitMs = 30_000;
const foreignStaleMs = 60_000;
/** While the token still works, a provider that just failed is left alone for so long. */
const quietMs = 5_000;

/**
 * Renews a credential exactly once, however many ask: with single-use refresh tokens the second
 * request would not only fail, it would end the session (RFC 9700 4.14.2). The first takes the lock
 * and writes the file before anybody sees the token; the others wait and read it. If it fails, those
 * that waited for it fail with it.
 *
 * @returns The new credential; or the old one, when that has some seconds left and the renewal failed
 *   for a reason that may pass.
 * @throws {BerthError} what `renew` throws, and `lock-timeout`.
 */
export async function renewOnce<Credential extends { readonly expiry: number }>(
  renewal: Renewal<Credential>,
  current: Credential,
): Promise<Credential> {
  const { path } = renewal;
  const note = `${path}.failed`;
  const began = renewal.now() * 1000;
  const usable = current.expiry > renewal.now();

  let failure: BerthError | undefined;
  let latest = current;
  const enough = (): boolean => {
    latest = renewal.read() ?? latest;
    failure = readFailure(note, usable ? began - quietMs : began);
    return renewal.isFresh(latest) || failure !== undefined;
  };
  try {
    const lock = await takeLock(renewal.lock, { waitMs, foreignStaleMs, enough });
    if (lock !== undefined) {
      try {
        // Between the look and the lock somebody may have been quicker.
        if (!enough()) latest = await renew(renewal, latest);
      } finally {
        await lock.release();
      }
    }
    if (renewal.isFresh(latest)) return latest;
    throw failure ?? shortLived(latest.expiry - renewal.now());
  } catch (error) {
    const passing = error instanceof BerthError && error.exit === 'temporary';
    if (passing && latest.expiry > renewal.now()) return latest;
    throw error;
  }

  async function renew(by: Renewal<Credential>, old: Credential): Promise<Credential> {
    try {
      const fresh = await by.renew(old);
      // A login came in between: what it wrote is of a newer session.
      const meanwhile = by.read();
      if (meanwhile !== undefined && by.isFresh(meanwhile)) return meanwhile;
      await writeAtomically(path, JSON.stringify(fresh), { mode: 0o600 });
      rmSync(note, { force: true });
      return fresh;
    } catch (error) {
      if (error instanceof BerthError) await writeFailure(note, error, by.now());
      throw error;
    }
  }
}

async function writeFailure(note: string, error: BerthError, now: number): Promise<void> {
  const { code, exit, hint, message } = error;
  const text = JSON.stringify({ at: now * 1000, code, exit, hint, message });
  await writeAtomically(note, text, { mode: 0o600 });
}

/** The failure of somebody else's try, if it came after `since` (milliseconds). */
function readFailure(note: string, since: number): BerthError | undefined {
  let text: string;
  try {
    text = readFileSync(note, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const failed = JSON.parse(text) as Record<'at' | 'code' | 'exit' | 'hint' | 'message', unknown>;
    if (!(Number(failed.at) > since)) return undefined;
    return new BerthError(String(failed.message), {
      code: failed.code as ErrorCode,
      exit: failed.exit as ExitClass,
      hint: String(failed.hint),
    });
  } catch {
    return undefined;
  }
}

function shortLived(seconds: number): BerthError {
  return new BerthError(`the new token ends in ${Math.round(seconds)} seconds`, {
    code: 'credential-short-lived',
    exit: 'temporary',
    hint: 'Let the identity provider give this client’s tokens a minute or more, and compare the clocks.',
  });
}
