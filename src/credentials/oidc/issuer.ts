import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BerthError } from '../../errors.ts';
import { escapeControl } from '../../log.ts';
import { asRoot } from '../../system/as-user.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import type { HttpsClient } from '../../system/https-request.ts';
import { readPrivateFile } from '../../system/private-file.ts';
import { fetchIssuer, type IssuerDocuments } from './issuer-discovery.ts';
import { type TokenExpectation, verifyToken } from './token.ts';
import type { TokenClaims } from './token-claims.ts';

export interface IssuerSource {
  readonly issuer: string;
  /** PEM bundle for the issuer's certificate. */
  readonly ca?: string;
  /** Root's folder; the issuer's file is `issuers/HASH.json` in it. */
  readonly stateDir: string;
}

export interface IssuerEdges {
  readonly https: HttpsClient;
  /** Seconds since the epoch. */
  readonly now: () => number;
  /** For each request to the issuer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** An issuer whose endpoints and keys are known, most often without having asked it. */
export interface Issuer {
  readonly tokenEndpoint: string;
  /**
   * As `verifyToken`, with the issuer's keys. A key that is not known is asked for once, at most
   * once in ten seconds, so a made-up `kid` cannot turn each login into a request to the issuer.
   */
  verify(jwt: string, expected: Omit<TokenExpectation, 'keys'>): Promise<TokenClaims>;
  /**
   * Done when keys that were used although older than an hour are renewed; gives the error where
   * that failed or where keys could not be kept, and never rejects. To be awaited at the end, within the caller's deadline.
   */
  readonly renewed: Promise<BerthError | undefined>;
}

interface IssuerRecord extends IssuerDocuments {
  readonly issuer: string;
  /** When the keys were fetched, and when that was last tried; seconds since the epoch. */
  readonly fetchedAt: number;
  readonly triedAt: number;
}

const staleAfterSeconds = 3600;
const quietSeconds = 10;
const maximumBytes = 512 * 1024;

/**
 * Opens an issuer from its file in the state folder; asks the issuer only when there is none.
 *
 * @throws {BerthError} what `fetchIssuer` throws, when nothing is cached.
 */
export async function openIssuer(source: IssuerSource, edges: IssuerEdges): Promise<Issuer> {
  const name = createHash('sha256').update(source.issuer).digest('hex').slice(0, 32);
  const file = join(source.stateDir, 'issuers', `${name}.json`);
  const now = edges.now();

  let unkept: BerthError | undefined;
  // A full or read-only state folder costs the next login a request, not this one its credential.
  const save = async (record: IssuerRecord): Promise<IssuerRecord> => {
    try {
      await asRoot(async () => {
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        await writeAtomically(file, JSON.stringify(record), { mode: 0o600 });
      });
    } catch (cause) {
      unkept ??= renewalFailure(cause);
    }
    return record;
  };
  const fetchRecord = async (): Promise<IssuerRecord> => {
    const documents = await fetchIssuer(source, edges);
    return await save({ issuer: source.issuer, fetchedAt: now, triedAt: now, ...documents });
  };

  const known = await asRoot(() => readRecord(file, source.issuer));
  let record = known ?? (await fetchRecord());
  const mayAsk = (): boolean => Math.abs(now - record.triedAt) >= quietSeconds;
  const ask = async (): Promise<void> => {
    // Written first: a failure counts as a try too.
    record = await save({ ...record, triedAt: now });
    record = await fetchRecord();
  };

  const stale = Math.abs(now - record.fetchedAt) > staleAfterSeconds && mayAsk();
  const asked = stale ? ask().then(() => undefined, renewalFailure) : Promise.resolve(undefined);

  return {
    tokenEndpoint: record.tokenEndpoint,
    renewed: asked.then((failure) => failure ?? unkept),
    verify: async (jwt, expected) => {
      try {
        return await verifyToken(jwt, { ...expected, keys: record.keys });
      } catch (error) {
        const unknownKey = error instanceof BerthError && error.code === 'token-key-unknown';
        if (!unknownKey || !(stale || mayAsk())) throw error;
        const failure = stale ? await asked : await ask().then(() => undefined, renewalFailure);
        if (failure) throw failure;
        return await verifyToken(jwt, { ...expected, keys: record.keys });
      }
    },
  };
}

/** Nothing where there is no file, or one that is not whole: it is made anew. */
function readRecord(file: string, issuer: string): IssuerRecord | undefined {
  const text = readPrivateFile(file, 0, maximumBytes);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as Partial<IssuerRecord>;
    const whole =
      record.issuer === issuer && Array.isArray(record.keys) && record.tokenEndpoint !== undefined;
    return whole ? (record as IssuerRecord) : undefined;
  } catch {
    return undefined;
  }
}

function renewalFailure(cause: unknown): BerthError {
  if (cause instanceof BerthError) return cause;
  const reason = cause instanceof Error ? escapeControl(cause.message) : 'unknown error';
  return new BerthError(`the issuer's keys could not be kept: ${reason}`, {
    code: 'issuer-cache-not-written',
    exit: 'io',
    hint: 'Look whether the state folder can be written by root.',
    cause,
  });
}
