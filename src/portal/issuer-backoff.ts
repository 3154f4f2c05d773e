import { join } from 'node:path';
import { asBerthError, BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { asRoot } from '../system/as-user.ts';
import type { HttpsClient } from '../system/https-request.ts';
import { isRecent, readAttemptTimes, writeAttemptTimes } from './attempt-times.ts';

/** How long logins do not ask a host that kept one of them waiting, in seconds. */
const skipSeconds = 10;

/** A host that refuses a connection at once costs no time, and is asked by each login. */
const waitedMs = 1_000;

/**
 * The same client, except that a host which accepts connections and does not answer keeps one login in ten seconds
 * waiting, and not each. It is for identity providers: for clusters, see `cluster-backoff.ts`.
 *
 * @param edges `stateDir` is root's, with the file `issuer-backoff.json`; `now` is in seconds since the epoch
 * @returns a client that also throws `issuer-skipped`
 */
export function withIssuerBackoff(
  ask: HttpsClient,
  { stateDir, now }: { readonly stateDir: string; readonly now: () => number },
): HttpsClient {
  const file = join(stateDir, 'issuer-backoff.json');
  // With a full or read-only state directory the next login waits, too.
  const record = (host: string, since: number | undefined): Promise<void> =>
    asRoot(() => {
      const others = [...readAttemptTimes(file)].filter(([name]) => name !== host);
      writeAttemptTimes(file, new Map(since === undefined ? others : [...others, [host, since]]));
    }).catch(() => undefined);

  return async (request) => {
    const { host } = new URL(request.url);
    const since = (await asRoot(() => readAttemptTimes(file))).get(host);
    if (isRecent(since, now(), skipSeconds)) throw skipped(host);
    // Written first: those that start while this one waits do not.
    if (since !== undefined) await record(host, now());
    const started = performance.now();
    try {
      const answer = await ask(request);
      if (since !== undefined) await record(host, undefined);
      return answer;
    } catch (thrown) {
      const { code } = asBerthError(thrown, host);
      const isSilent = code === 'issuer-timeout' || code === 'issuer-unreachable';
      if (isSilent && performance.now() - started >= waitedMs) await record(host, now());
      else if (since !== undefined) await record(host, undefined);
      throw thrown;
    }
  };
}

function skipped(host: string): BerthError {
  return new BerthError(
    `identity provider ${escapeControl(host)} skipped: less than ${skipSeconds} s ago it did not answer another login`,
    {
      code: 'issuer-skipped',
      hint: `\`journalctl -t berth\` has the reason, in the log lines of the earlier login. \`berth doctor\` asks the identity provider now; a login tries again after ${skipSeconds} s.`,
    },
  );
}
