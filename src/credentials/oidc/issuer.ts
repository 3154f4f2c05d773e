import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { asRoot } from '../../system/as-user.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { type FileLock, tryLock } from '../../system/file-lock.ts';
import { readPrivateFile } from '../../system/private-file.ts';
import type { IssuerMetadata } from './issuer-discovery.ts';
import type { ProviderEdges } from './provider-fetch.ts';
import { KeyMismatch, type TokenExpectation, verifyToken } from './verify-token.ts';
import type { TokenClaims } from './verify-claims.ts';

export interface IssuerSource {
  readonly issuer: string;
  /** PEM bundle for the issuer's certificate. */
  readonly ca?: string;
  /** Root's state directory; the issuer's file is `issuers/HASH.json` in it. */
  readonly stateDir: string;
}

export interface IssuerEdges extends ProviderEdges {
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** An issuer with its endpoints and keys, most often read from the state directory. */
export interface Issuer extends Pick<IssuerMetadata, 'tokenEndpoint' | 'mtlsTokenEndpoint'> {
  /**
   * `verifyToken` with the issuer's keys. If none of them has signed the token, they are fetched again, at most once
   * in ten seconds for all logins: forged tokens must not turn each login into a request to the issuer. Who sends
   * them all the time keeps the keys fresh, and delays others by no more than that.
   */
  verify(jwt: string, expected: Omit<TokenExpectation, 'keys'>): Promise<TokenClaims>;
  /**
   * Resolves when keys older than an hour, which were used meanwhile, have been fetched again. Never
   * rejects: it resolves with the error when fetching or storing them failed. Await it last, within the
   * caller's deadline.
   */
  readonly renewed: Promise<BerthError | undefined>;
}

interface IssuerRecord extends IssuerMetadata {
  readonly issuer: string;
  /** When the keys were fetched, and when that was last attempted, in seconds since the epoch. */
  readonly fetchedAt: number;
  readonly triedAt: number;
}

const staleAfterSeconds = 3600;
const retryAfterSeconds = 10;
/** Between two looks at another login's lock, in milliseconds. */
const pauseMs = 50;
const maximumBytes = 512 * 1024;

/**
 * Opens an issuer from its file in the state directory; asks the issuer only when there is none.
 *
 * @throws {BerthError} what `fetchIssuer` throws, when there is no file.
 */
export async function openIssuer(source: IssuerSource, edges: IssuerEdges): Promise<Issuer> {
  const name = createHash('sha256').update(source.issuer).digest('hex').slice(0, 32);
  const file = join(source.stateDir, 'issuers', `${name}.json`);
  const now = edges.now();

  let notStored: BerthError | undefined;
  // With a full or read-only state directory the next login has to ask again; this one goes on.
  const save = async (record: IssuerRecord): Promise<IssuerRecord> => {
    try {
      await asRoot(async () => {
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        await writeAtomically(file, JSON.stringify(record), { mode: 0o600 });
      });
    } catch (cause) {
      notStored ??= renewalFailure(cause);
    }
    return record;
  };
  const fetchRecord = async (): Promise<IssuerRecord> => {
    // Imported here: openid-client adds 17 ms to a start, and most logins do not ask the issuer.
    const { fetchIssuer } = await import('./issuer-discovery.ts');
    const documents = await fetchIssuer(source, edges);
    return await save({ issuer: source.issuer, fetchedAt: now, triedAt: now, ...documents });
  };

  const known = await asRoot(() => readRecord(file, source.issuer));
  let record = known ?? (await fetchRecord());
  const mayFetch = (): boolean => Math.abs(now - record.triedAt) >= retryAfterSeconds;
  // One login asks; those that come meanwhile wait for its answer.
  const ask = async (): Promise<void> => {
    const lock = await lockOf(file, edges);
    try {
      record = (await asRoot(() => readRecord(file, source.issuer))) ?? record;
      if (!mayFetch()) return;
      // Written first: a failed attempt counts, too.
      record = await save({ ...record, triedAt: now });
      record = await fetchRecord();
    } finally {
      if (lock !== undefined) await asRoot(() => lock.release());
    }
  };
  let asking: Promise<BerthError | undefined> | undefined;
  const asked = (): Promise<BerthError | undefined> =>
    (asking ??= ask().then(() => undefined, renewalFailure));

  const stale = Math.abs(now - record.fetchedAt) > staleAfterSeconds && mayFetch();
  const renewal = stale ? asked() : Promise.resolve(undefined);

  return {
    tokenEndpoint: record.tokenEndpoint,
    mtlsTokenEndpoint: record.mtlsTokenEndpoint,
    renewed: renewal.then((failure) => failure ?? notStored),
    verify: async (jwt, expected) => {
      try {
        return verifyToken(jwt, { ...expected, keys: record.keys });
      } catch (error) {
        if (!(error instanceof KeyMismatch)) throw error;
        const failure = await asked();
        if (failure) throw failure;
        return verifyToken(jwt, { ...expected, keys: record.keys });
      }
    },
  };
}

/**
 * Waits for the login that asks the issuer at the moment, no longer than its two requests may take.
 *
 * @returns undefined if it takes longer, or if the state directory cannot be written
 */
async function lockOf(file: string, edges: IssuerEdges): Promise<FileLock | undefined> {
  const end = performance.now() + 2 * edges.timeoutMs;
  while (performance.now() < end && edges.signal?.aborted !== true) {
    try {
      const lock = await asRoot(() => tryLock(`${file}.lock`));
      if (lock !== undefined) return lock;
    } catch {
      return undefined;
    }
    // Not within asRoot: nothing can be done as the user meanwhile.
    await sleep(pauseMs);
  }
  return undefined;
}

/** @returns Nothing when there is no file or an incomplete one: it is written again. */
function readRecord(file: string, issuer: string): IssuerRecord | undefined {
  const text = readPrivateFile(file, 0, maximumBytes);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as Partial<IssuerRecord>;
    const complete =
      record.issuer === issuer &&
      Array.isArray(record.keys) &&
      record.tokenEndpoint !== undefined &&
      record.mtlsTokenEndpoint !== undefined;
    return complete ? (record as IssuerRecord) : undefined;
  } catch {
    return undefined;
  }
}

function renewalFailure(cause: unknown): BerthError {
  if (cause instanceof BerthError) return cause;
  const reason = cause instanceof Error ? escapeControl(cause.message) : 'unknown error';
  return new BerthError(
    'issuer-cache-not-written',
    `the issuer's keys could not be stored: ${reason}`,
    {
      cause,
    },
  );
}
