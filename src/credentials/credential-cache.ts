import { BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { readPrivateFile, readPrivateFileSoon } from '../system/private-file.ts';
import { restartWebServer } from './oidc/portal-advice.ts';

/**
 * What `kube-credential` answers kubectl from: one file of mode 0600 for a user and an API server,
 * in the user's home. No client secret is ever in it.
 */
export interface CredentialCache {
  readonly version: 1;
  /** OnDemand's name of the cluster: what the broker is asked for. */
  readonly cluster: string;
  /** The API server, as the kubeconfig has it. */
  readonly server: string;
  readonly token: string;
  /** End of the token, in seconds since the epoch. */
  readonly expiry: number;
  /** How a new token is had; absent where only a new login gives one. */
  readonly refresh?: PublicRefresh | BrokerRefresh;
}

/** A public client refreshes by itself. */
export interface PublicRefresh {
  readonly by: 'plugin';
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly refreshToken: string;
  /** Which token of the answer is the credential. */
  readonly token: 'id' | 'access';
  /** PEM: the home may be mounted where the site's file is not. */
  readonly ca?: string;
  /** SHA-256 of the portal's refresh token that this one descends from. */
  readonly origin: string;
  /** How many renewals it is away from that one, see `Heir`. */
  readonly turn?: number;
}

/** A confidential client is refreshed by root's broker. */
export interface BrokerRefresh {
  readonly by: 'broker';
  readonly socket: string;
}

/**
 * A token is renewed this long before its end, in seconds. client-go sends a token to the last
 * second of `expirationTimestamp` and the API server refuses it from its last second on, by its own
 * clock; so there has to be room for one slow request and for the difference between two clocks that
 * NTP keeps. golang.org/x/oauth2 takes 10 seconds; Keycloak's shortest sensible lifetime is 60.
 */
export const renewBeforeSeconds = 15;

/** No credential's file is larger. */
const credentialCacheBytes = 256 * 1024;

/** True while the token may be given to kubectl without asking anybody. `now` in seconds. */
export function isFresh(credential: { readonly expiry: number }, now: number): boolean {
  return credential.expiry - renewBeforeSeconds > now;
}

/**
 * Where the credential for an API server is, below the user's home. Named by the server, since that
 * is all that client-go tells its plugin, and one user entry of a kubeconfig may serve many clusters.
 */
export function credentialCachePath(server: string): string {
  const name = sameServer(server).replace(/[^\w.-]/g, '_');
  return `.kube/cache/berth/${name.slice(0, 200)}.json`;
}

/**
 * Reads a user's credential. Only node:fs is needed for it: it runs at every kubectl.
 *
 * @param path The file, absolute.
 * @param uid Who must own it.
 * @returns Nothing where there is none for this server.
 * @throws {BerthError} `credential-cache-invalid`, and what `readPrivateFile` throws.
 */
export function readCredentialCache(
  path: string,
  uid: number,
  server?: string,
): CredentialCache | undefined {
  const text = readPrivateFile(path, uid, credentialCacheBytes);
  if (text === undefined) return undefined;
  const cache = parseCredentialCache(text);
  if (cache === undefined) {
    throw new BerthError(`${escapeControl(path)} is not a credential that Berth wrote`, {
      code: 'credential-cache-invalid',
      exit: 'config',
      hint: `Remove the file. ${restartWebServer}: that makes it anew.`,
      fields: { file: path },
    });
  }
  return server === undefined || sameServer(cache.server) === sameServer(server)
    ? cache
    : undefined;
}

/**
 * The same in a home that may hang, for whatever server; what is not whole counts for nothing.
 *
 * @throws {BerthError} what `readPrivateFileSoon` throws.
 */
export async function readCredentialCacheSoon(
  path: string,
  uid: number,
): Promise<CredentialCache | undefined> {
  const text = await readPrivateFileSoon(path, uid, credentialCacheBytes);
  return text === undefined ? undefined : parseCredentialCache(text);
}

/** Nothing for what is not the text of a whole credential. */
function parseCredentialCache(text: string): CredentialCache | undefined {
  let value: Partial<CredentialCache> | null;
  try {
    value = JSON.parse(text) as Partial<CredentialCache> | null;
  } catch {
    return undefined;
  }
  const whole =
    typeof value === 'object' &&
    value?.version === 1 &&
    typeof value.cluster === 'string' &&
    typeof value.server === 'string' &&
    // Whatever is not visible ASCII could not stand in an Authorization header.
    typeof value.token === 'string' &&
    /^[\x21-\x7e]+$/.test(value.token) &&
    typeof value.expiry === 'number' &&
    (value.refresh === undefined || isRefresh(value.refresh));
  return whole ? (value as CredentialCache) : undefined;
}

function isRefresh(refresh: Partial<PublicRefresh | BrokerRefresh> | null): boolean {
  if (refresh === null || typeof refresh !== 'object') return false;
  if (refresh.by === 'broker') return typeof refresh.socket === 'string';
  return (
    refresh.by === 'plugin' &&
    (refresh.turn === undefined || Number.isSafeInteger(refresh.turn)) &&
    [refresh.tokenEndpoint, refresh.clientId, refresh.refreshToken].every(
      (member) => typeof member === 'string',
    )
  );
}

/** The refresh part of a credential that the plugin renews by itself. */
export function pluginRefresh(cache: CredentialCache | undefined): PublicRefresh | undefined {
  return cache?.refresh?.by === 'plugin' ? cache.refresh : undefined;
}

/** `https://API.example:443/` and `https://api.example` are the same server. */
function sameServer(server: string): string {
  return server
    .toLowerCase()
    .replace(/^https:\/\//, '')
    .replace(/\/+$/, '')
    .replace(/:443$/, '');
}
