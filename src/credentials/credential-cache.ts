import { BerthError } from '../system/errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { readPrivateFile, readPrivateFileAsync } from '../system/private-file.ts';
import { parsedJson } from '../system/text/parsed-json.ts';

/**
 * The file from which `kube-credential` answers kubectl: one for each API server, in the user's home, mode
 * 0600. It never contains a client secret.
 */
export interface CredentialCache {
  readonly version: 1;
  /** OnDemand's name of the cluster, for the request to the broker. */
  readonly cluster: string;
  /** URL of the API server, as in the kubeconfig. */
  readonly server: string;
  readonly token: string;
  /** When the token expires, in seconds since the epoch. */
  readonly expiry: number;
  /** How to renew the token; absent if only the hook can write a new one. */
  readonly refresh?: PluginRefresh | BrokerRefresh;
}

/** For a public client: the plugin renews the token itself. */
export interface PluginRefresh {
  readonly by: 'plugin';
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly refreshToken: string;
  /** Which token of the provider's response is the credential. */
  readonly token: 'id' | 'access';
  /** PEM text, because the site's file may not exist on another host with the same home. */
  readonly ca?: string;
  /** SHA-256 of the portal's refresh token that this one descends from. */
  readonly origin: string;
  /** How many renewals lie between the two, see `DescendantToken`. */
  readonly turn?: number;
}

/** For a confidential client: root's broker renews the token. */
export interface BrokerRefresh {
  readonly by: 'broker';
  readonly socket: string;
}

/**
 * How long before its expiry a token is renewed, in seconds. client-go uses a token until
 * `expirationTimestamp`, and the API server rejects it after `exp` by its own clock. So this must cover one
 * slow request and the difference between two clocks kept by NTP. golang.org/x/oauth2 uses 10 seconds; 60
 * seconds is about the shortest useful lifetime of a token.
 */
export const renewBeforeSeconds = 15;

/** A larger file is not read. */
const maximumBytes = 256 * 1024;

/** True if the token need not be renewed yet. @param now seconds since the epoch */
export function isFresh(credential: { readonly expiry: number }, now: number): boolean {
  return credential.expiry - renewBeforeSeconds > now;
}

/** Relative to the home. */
export const credentialCachesDir = '.kube/cache/berth';

/**
 * The path of the credential for an API server, relative to the home. Its name is made from the server's
 * URL: client-go tells the plugin nothing else, and one user entry of a kubeconfig may serve many clusters.
 */
export function credentialCachePath(server: string): string {
  const name = normalizedServer(server).replace(/[^\w.-]/g, '_');
  return `${credentialCachesDir}/${name.slice(0, 200)}.json`;
}

/**
 * Reads a user's credential. Runs at every kubectl, so it needs no module besides node:fs.
 *
 * @param path absolute path of the file
 * @param uid its required owner
 * @returns undefined if there is no credential for this server
 * @throws {BerthError} `credential-cache-invalid`, and what `readPrivateFile` throws
 */
export function readCredentialCache(
  path: string,
  uid: number,
  server?: string,
): CredentialCache | undefined {
  const text = readPrivateFile(path, uid, maximumBytes);
  if (text === undefined) return undefined;
  const cache = parseCredentialCache(text);
  if (cache === undefined) {
    throw new BerthError(
      'credential-cache-invalid',
      `${escapeControl(path)} is not a credential that Berth wrote`,
      {
        fields: { file: path },
      },
    );
  }
  return server === undefined || normalizedServer(cache.server) === normalizedServer(server)
    ? cache
    : undefined;
}

/**
 * The same for any server, without blocking on a file system that hangs.
 *
 * @returns undefined also if the file is incomplete
 * @throws {BerthError} what `readPrivateFileAsync` throws
 */
export async function readCredentialCacheAsync(
  path: string,
  uid: number,
): Promise<CredentialCache | undefined> {
  const text = await readPrivateFileAsync(path, uid, maximumBytes);
  return text === undefined ? undefined : parseCredentialCache(text);
}

/** @returns undefined if the text is not a complete credential */
function parseCredentialCache(text: string): CredentialCache | undefined {
  const value = parsedJson(text) as Partial<CredentialCache> | null | undefined;
  const isComplete =
    typeof value === 'object' &&
    value?.version === 1 &&
    typeof value.cluster === 'string' &&
    typeof value.server === 'string' &&
    // An Authorization header can hold visible ASCII only.
    typeof value.token === 'string' &&
    /^[\x21-\x7e]+$/.test(value.token) &&
    typeof value.expiry === 'number' &&
    (value.refresh === undefined || isRefresh(value.refresh));
  return isComplete ? (value as CredentialCache) : undefined;
}

function isRefresh(refresh: Partial<PluginRefresh | BrokerRefresh> | null): boolean {
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
export function pluginRefresh(cache: CredentialCache | undefined): PluginRefresh | undefined {
  return cache?.refresh?.by === 'plugin' ? cache.refresh : undefined;
}

/** The same text for `https://API.example:443/` and `https://api.example`. */
function normalizedServer(server: string): string {
  return server
    .toLowerCase()
    .replace(/^https:\/\//, '')
    .replace(/\/+$/, '')
    .replace(/:443$/, '');
}
