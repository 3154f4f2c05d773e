import { join } from 'node:path';
import {
  type ClusterSettings,
  type OidcSettings,
  oidcSettingsOf,
} from '../config/schema/settings.ts';
import { type Issuer, openIssuer } from '../credentials/oidc/issuer.ts';
import type { ProviderAccess } from '../credentials/renewable-token.ts';
import { asBerthError, BerthError } from '../system/errors/berth-error.ts';
import { escapeControl, type Logger } from '../log.ts';
import { asInvoker, asRoot } from '../system/as-user.ts';
import type { Deadline } from '../system/deadline.ts';
import { type HttpsClient, httpsRequest } from '../system/https-request.ts';
import { isRecent, readAttemptTimes, skippedHint, writeAttemptTimes } from './cluster-backoff.ts';

/** Milliseconds for one request to an issuer. */
const timeoutMs = 5_000;

/**
 * The identity providers of the clusters, each opened once, however many clusters trust it. Their CA
 * files are read, and the issuers opened, before anything is done as the user.
 *
 * @param edges `read` reads a trusted file as root; `now` is in seconds since the epoch
 * @returns how to reach them, and `renewed`, which waits for outdated keys to be fetched again and logs
 *   what went wrong
 */
export async function openIssuers(
  clusters: readonly ClusterSettings[],
  stateDir: string,
  edges: {
    readonly read: (file: string) => string;
    readonly now: () => number;
    readonly deadline: Deadline;
    readonly log: Logger;
  },
): Promise<ProviderAccess & { readonly renewed: () => Promise<void> }> {
  const { now, deadline } = edges;
  const https = withIssuerBackoff(httpsRequest, {
    stateDir,
    now,
    issuers: clusters.flatMap((cluster) => oidcSettingsOf(cluster)?.issuer ?? []),
  });
  const provider = { https, now, timeoutMs, signal: deadline.signal };
  const readCa = await certificates(clusters, edges.read);
  const opened = new Map<string, Promise<Issuer>>();
  const open = ({ issuer, caFile }: OidcSettings): Promise<Issuer> => {
    const ca = caFile === undefined ? {} : { ca: readCa(caFile) };
    return openIssuer({ issuer, stateDir, ...ca }, provider);
  };
  const issuer = async (settings: OidcSettings): Promise<Issuer> => {
    const one = opened.get(settings.issuer) ?? open(settings);
    opened.set(settings.issuer, one);
    return one;
  };
  for (const { credentials } of clusters)
    // The cluster that needs the issuer reports its error.
    if (credentials.mode === 'oidc') issuer(credentials).catch(() => undefined);
  return {
    ...provider,
    issuer,
    readCa,
    renewed: async () => {
      for (const one of await Promise.allSettled(opened.values())) {
        const error = one.status === 'fulfilled' ? await one.value.renewed : undefined;
        if (error !== undefined) edges.log.warning(error.message, { code: error.code });
      }
    },
  };
}

/** The text of each CA file; asking for one that cannot be read throws that cluster's error. */
async function certificates(
  clusters: readonly ClusterSettings[],
  read: (file: string) => string,
): Promise<(file: string) => string> {
  const files = clusters.flatMap((cluster) => oidcSettingsOf(cluster)?.caFile ?? []);
  const texts = await asInvoker(() => new Map(files.map((file) => [file, attempt(read, file)])));
  return (file) => {
    const text = texts.get(file);
    if (typeof text === 'string') return text;
    throw asBerthError(text, `reading ${file}`);
  };
}

/** The text, or what was thrown. */
function attempt(read: (file: string) => string, file: string): unknown {
  try {
    return read(file);
  } catch (thrown) {
    return thrown;
  }
}

/** How long logins do not ask an issuer that kept one of them waiting, in seconds. */
const skipSeconds = 10;

/** A server that refuses a connection at once costs no time, and is asked by each login. */
const waitedMs = 1_000;

interface IssuerBackoff {
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
    if (isRecent(since, now(), skipSeconds))
      throw new BerthError(
        'issuer-skipped',
        `identity provider ${escapeControl(issuer)} skipped: less than ${skipSeconds} s ago it did not answer another login`,
        {
          hint: skippedHint(skipSeconds),
        },
      );
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
