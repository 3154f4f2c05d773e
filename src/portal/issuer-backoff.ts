import { join } from 'node:path';
import { asBerthError, BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { asRoot } from '../system/as-user.ts';
import type { HttpsClient } from '../system/https-request.ts';
import { isRecent, readAttemptTimes, skippedHint, writeAttemptTimes } from './attempt-times.ts';

/** How long logins do not ask an issuer that kept one of them waiting, in seconds. */
const skipSeconds = 10;

/** A server that refuses a connection at once costs no time, and is asked by each login. */
const waitedMs = 1_000;

export interface IssuerBackoff {
  /** The directory of root's state, with the file `issuer-backoff.json`. */
  readonly stateDir: string;
  /** The URLs of the issuers. Those on one host do not answer for each other. */
  readonly issuers: readonly string[];
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/**
 * The same client, except that an identity provider which does not answer keeps one login in ten seconds waiting, and not each.
 * For clusters, see `cluster-backoff.ts`.
 *
 * A token request that is slow does not count if there was a connection: its time may depend on the user, and no user can
 * make others wait or fail.
 *
 * @returns a client that also throws `issuer-skipped`
 */
export function withIssuerBackoff(
  ask: HttpsClient,
  { stateDir, issuers, now }: IssuerBackoff,
): HttpsClient {
  const file = join(stateDir, 'issuer-backoff.json');
  // With a full or read-only state directory the next login waits, too.
  const record = (issuer: string, since: number | undefined): Promise<void> =>
    asRoot(() => {
      const others = [...readAttemptTimes(file)].filter(([name]) => name !== issuer);
      writeAttemptTimes(file, new Map(since === undefined ? others : [...others, [issuer, since]]));
    }).catch(() => undefined);

  return async (request) => {
    const issuer = issuerOf(request.url, issuers);
    const since = (await asRoot(() => readAttemptTimes(file))).get(issuer);
    if (isRecent(since, now(), skipSeconds)) throw skipped(issuer);
    // Written first: those that start while this one waits do not.
    if (since !== undefined) await record(issuer, now());
    const started = performance.now();
    let connected = false;
    const onConnected = (): void => void (connected = true);
    try {
      const answer = await ask({ ...request, onConnected });
      if (since !== undefined) await record(issuer, undefined);
      return answer;
    } catch (thrown) {
      const { code } = asBerthError(thrown, issuer);
      const isSilent =
        (code === 'issuer-timeout' || code === 'issuer-unreachable') &&
        performance.now() - started >= waitedMs &&
        // Not the end of this hook's own time.
        request.signal?.aborted !== true &&
        (request.method === 'GET' || !connected);
      if (isSilent) await record(issuer, now());
      else if (since !== undefined) await record(issuer, undefined);
      throw thrown;
    }
  };
}

/** Endpoints are usually below the issuer's URL. One that is elsewhere is judged by itself. */
function issuerOf(url: string, issuers: readonly string[]): string {
  const { origin, pathname } = new URL(url);
  const below = issuers.find((issuer) =>
    url.startsWith(issuer.endsWith('/') ? issuer : `${issuer}/`),
  );
  return below ?? `${origin}${pathname}`;
}

function skipped(issuer: string): BerthError {
  return new BerthError(
    `identity provider ${escapeControl(issuer)} skipped: less than ${skipSeconds} s ago it did not answer another login`,
    {
      code: 'issuer-skipped',
      hint: skippedHint(skipSeconds),
    },
  );
}
