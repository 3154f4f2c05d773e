import { countText } from '../system/text/count-text.ts';
import { readFileSync, rmSync } from 'node:fs';
import { BerthError, type ErrorCode, type ExitClass } from '../system/errors/berth-error.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { mappingOrEmpty } from '../system/text/mapping.ts';
import { takeLock } from '../system/file-lock.ts';
import { parsedJson } from '../system/text/parsed-json.ts';

/** A credential in a file that many processes may renew at the same moment. */
export interface Renewal<Credential extends { readonly expiry: number }> {
  /** The file; the note of the last failure is beside it. */
  readonly path: string;
  /** The lock file. Everything that uses the same refresh token holds the same lock. */
  readonly lock: string;
  readonly read: () => Credential | undefined;
  readonly isFresh: (credential: Credential) => boolean;
  /** Gets a new one; must settle within 20 seconds. */
  readonly renew: (current: Credential) => Promise<Credential>;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** More than one renewal may take, and its write. */
const timeoutMs = 30_000;
const foreignStaleMs = 60_000;
/** While the token is still valid, a provider that has just failed is not asked for this long. */
const quietMs = 5_000;

/**
 * Renews a credential once, however many processes ask: with single-use refresh tokens a second request
 * would not only fail, it would end the session (RFC 9700 4.14.2). The first process takes the lock and
 * writes the file; the others wait and read it. If the first one fails, the others fail with its error.
 *
 * @returns the new credential; or the old one if it is still valid and the failure is temporary
 * @throws {BerthError} what `renew` throws, `lock-timeout`, `credential-short-lived`
 */
export async function renewUnderLock<Credential extends { readonly expiry: number }>(
  renewal: Renewal<Credential>,
  current: Credential,
): Promise<Credential> {
  const { path } = renewal;
  const note = `${path}.failed`;
  const began = renewal.now() * 1000;
  const usable = current.expiry > renewal.now();

  let failure: BerthError | undefined;
  let latest = current;
  const isDone = (): boolean => {
    latest = renewal.read() ?? latest;
    failure = readFailure(note, usable ? began - quietMs : began);
    return renewal.isFresh(latest) || failure !== undefined;
  };
  try {
    const lock = await takeLock(renewal.lock, { timeoutMs, foreignStaleMs, stopWaitingIf: isDone });
    if (lock !== undefined) {
      try {
        // Another process may have renewed it before this one got the lock.
        if (!isDone()) latest = await renew(renewal, latest);
      } finally {
        await lock.release();
      }
    }
    if (renewal.isFresh(latest)) return latest;
    throw (
      failure ??
      new BerthError(
        'credential-short-lived',
        `the new token expires in ${countText(Math.round(latest.expiry - renewal.now()), 'second')}`,
      )
    );
  } catch (error) {
    const passing = error instanceof BerthError && error.exit === 'temporary';
    if (passing && latest.expiry > renewal.now()) return latest;
    throw error;
  }

  async function renew(by: Renewal<Credential>, old: Credential): Promise<Credential> {
    try {
      const fresh = await by.renew(old);
      // The hook has run meanwhile: what it wrote belongs to a newer session.
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

/** Another process's failure, if later than `since` (milliseconds since the epoch). */
function readFailure(note: string, since: number): BerthError | undefined {
  let text: string;
  try {
    text = readFileSync(note, 'utf8');
  } catch {
    return undefined;
  }
  const failed = mappingOrEmpty(parsedJson(text));
  if (!(Number(failed.at) > since)) return undefined;
  return new BerthError(failed.code as ErrorCode, String(failed.message), {
    exit: failed.exit as ExitClass,
    hint: String(failed.hint),
  });
}
