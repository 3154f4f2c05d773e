import { BerthError } from '../system/errors/berth-error.ts';
import type { HttpsClient } from '../system/https-request.ts';
import { askBroker } from './ask-broker.ts';
import {
  type CredentialCache,
  isFresh,
  pluginRefresh,
  type PluginRefresh,
  readCredentialCache,
} from './credential-cache.ts';
import {
  type DescendantToken,
  newestDescendant,
  renewalLock,
  otherCredentialFiles,
} from './refresh-token-lineage.ts';
import { renewUnderLock } from './renew-under-lock.ts';
import { chooseToken } from './oidc/obtain-token.ts';
import { expiryOf } from './oidc/verify-token.ts';

export interface RenewDeps {
  readonly https: HttpsClient;
  readonly uid: number;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** For one request: less than the 20 s that `renewUnderLock` allows. */
const usualTimeoutMs = 10_000;
/** While the token is still valid, kubectl does not wait long for a provider that hangs. */
const shortTimeoutMs = 3_000;

/**
 * Renews the credential in a user's file, as the user: with the refresh token of a public client, or
 * through root's broker. Many processes at once make one request.
 *
 * @throws {BerthError} `credential-expired` if it cannot be renewed, and what `renewUnderLock`,
 *   `refreshTokens` and `askBroker` throw
 */
export async function renewCachedCredential(
  path: string,
  cache: CredentialCache,
  edges: RenewDeps,
): Promise<CredentialCache> {
  if (cache.refresh === undefined) {
    if (cache.expiry > edges.now()) return cache;
    throw new BerthError('credential-expired', `the credential for ${cache.server} has expired`);
  }
  return await renewUnderLock(
    {
      path,
      lock: renewalLock(path, pluginRefresh(cache)?.origin),
      now: edges.now,
      read: () => readCredentialCache(path, edges.uid, cache.server),
      isFresh: (credential) => isFresh(credential, edges.now()),
      renew: (current) => renew(path, current, edges),
    },
    cache,
  );
}

async function renew(
  path: string,
  current: CredentialCache,
  edges: RenewDeps,
): Promise<CredentialCache> {
  const limit = current.expiry > edges.now() ? shortTimeoutMs : usualTimeoutMs;
  const { refresh, cluster } = current;
  if (refresh?.by === 'broker') {
    // Twice the time: the broker asks the provider, and may have other connections to serve first.
    const answer = await askBroker(refresh.socket, { cluster }, 2 * limit);
    return { ...current, ...answer };
  }
  if (refresh === undefined) return current;
  const newest = newestDescendant(refresh.origin, [
    refresh,
    ...(await descendantsBeside(path, refresh, edges.uid)),
  ]);
  return await renewPublic(current, { ...refresh, ...newest }, limit, edges);
}

async function renewPublic(
  current: CredentialCache,
  refresh: PluginRefresh,
  timeoutMs: number,
  edges: RenewDeps,
): Promise<CredentialCache> {
  const endpoint = {
    url: refresh.tokenEndpoint,
    clientId: refresh.clientId,
    ca: refresh.ca,
  };
  const { refreshTokens } = await import('./oidc/token-endpoint.ts');
  const tokens = await refreshTokens(endpoint, refresh.refreshToken, {
    https: edges.https,
    timeoutMs,
  });
  const token = chooseToken(tokens, refresh.token);
  return {
    ...current,
    token,
    expiry: expiryOf(token, tokens.expiresIn, edges.now()),
    refresh: { ...refresh, refreshToken: tokens.refreshToken, turn: (refresh.turn ?? 0) + 1 },
  };
}

/** The refresh tokens of the same client that were renewed for other clusters. */
async function descendantsBeside(
  path: string,
  { clientId }: PluginRefresh,
  uid: number,
): Promise<Partial<DescendantToken>[]> {
  return (await otherCredentialFiles(path)).flatMap((sibling) => {
    try {
      const refresh = pluginRefresh(readCredentialCache(sibling, uid));
      return refresh?.clientId === clientId ? [refresh] : [];
    } catch {
      // An unusable file is of no use here; kubectl for that cluster reports it.
      return [];
    }
  });
}
