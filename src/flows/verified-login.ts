import { createHash } from 'node:crypto';
import type { OidcSettings } from '../config/settings.ts';
import { type CredentialCache, isFresh } from '../credentials/credential-cache.ts';
import { type ObtainContext, obtainByRefresh, obtainToken } from '../credentials/obtain-token.ts';
import type { StoredCredential } from '../credentials/root-store.ts';
import type { Issuer } from '../credentials/signing-keys.ts';
import { BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import type { HttpsClient } from '../system/https-request.ts';

/** What OnDemand hands over, by pun_pre_hook_exports. An empty variable is an absent one. */
export interface LoginTokens {
  readonly accessToken?: string;
  readonly idToken?: string;
  readonly refreshToken?: string;
}

export interface VerifyDeps {
  readonly https: HttpsClient;
  /** Opens the issuer of these settings (`openIssuer`): once for a hook, however many clusters. */
  readonly issuer: (settings: OidcSettings) => Promise<Issuer>;
  /** The PEM text of `caFile`. */
  readonly readCa: (caFile: string) => string;
  /** What root kept of the last login (`readStored`). */
  readonly stored?: StoredCredential;
  /** What the user's file holds (`readCredentialCache`), for a public client. */
  readonly cached?: CredentialCache;
  /**
   * Is given what must be kept if the hook dies in the next moment: the refresh token that replaced
   * the one that was used.
   */
  readonly keep?: (next: {
    readonly refreshToken: string;
    readonly origin: string;
  }) => void | Promise<void>;
  /** False where no refresh token may be used yet: then `refresh-needed` is thrown instead. */
  readonly mayRefresh?: boolean;
  /** Seconds since the epoch. */
  readonly now: () => number;
  /** For each request to the issuer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A credential that was verified, and what renews it. */
export interface VerifiedLogin {
  readonly token: string;
  readonly expiry: number;
  readonly refreshToken?: string;
  readonly origin?: string;
}

/**
 * A verified credential, and the refresh token for later.
 *
 * A portal hands over the refresh token of its session again at each start of a PUN, although ours
 * may have been rotated since: a single-use token that was used before would end the session. So
 * when the portal's token is the one that we have a descendant of, the descendant counts.
 *
 * @throws {BerthError} what `obtainToken` and `obtainByRefresh` throw.
 */
export async function verifiedLogin(
  user: User,
  settings: OidcSettings,
  tokens: LoginTokens,
  deps: VerifyDeps,
): Promise<VerifiedLogin> {
  const given = present(tokens);
  const origin = given.refreshToken === undefined ? undefined : digest(given.refreshToken);
  const known = origin === undefined ? undefined : descendant(origin, deps);
  const refreshToken = known?.refreshToken ?? given.refreshToken;
  const rest = refreshToken !== undefined && origin !== undefined ? { refreshToken, origin } : {};

  const issuer = await deps.issuer(settings);
  const context: ObtainContext = {
    settings,
    username: user.name,
    issuer,
    https: deps.https,
    now: deps.now,
    timeoutMs: deps.timeoutMs,
    ...(settings.caFile !== undefined && { ca: deps.readCa(settings.caFile) }),
    ...(deps.signal && { signal: deps.signal }),
  };
  // An exchange costs a round trip: not for a session whose last one still holds.
  if (settings.exchange && known?.root === true && isFresh(known, deps.now() + longEnoughSeconds)) {
    return { token: known.token, expiry: known.expiry, ...rest };
  }
  try {
    const { token, claims } = await obtainToken(context, given);
    return { token, expiry: claims.expiry, ...rest };
  } catch (error) {
    const over = error instanceof BerthError && error.code === 'token-expired';
    if (!over || refreshToken === undefined || origin === undefined) throw error;
  }
  // What the portal gave has ended; what was had with its refresh token since then may not have.
  if (known?.root === true && isFresh(known, deps.now())) {
    return { token: known.token, expiry: known.expiry, ...rest };
  }
  if (deps.mayRefresh === false) throw refreshNeeded();
  const renewed = await obtainByRefresh(context, refreshToken, (next) =>
    deps.keep?.({ refreshToken: next, origin }),
  );
  return {
    token: renewed.token,
    expiry: renewed.claims.expiry,
    refreshToken: renewed.refreshToken,
    origin,
  };
}

const longEnoughSeconds = 120;

function refreshNeeded(): BerthError {
  return new BerthError('the token of the login has ended', {
    code: 'refresh-needed',
    exit: 'temporary',
    hint: 'It is renewed with the refresh token, under a lock.',
  });
}

interface Descendant {
  readonly refreshToken: string | undefined;
  readonly token: string;
  readonly expiry: number;
  /** Only what root kept is to be trusted unseen; a user's file is the user's word. */
  readonly root: boolean;
}

function descendant(origin: string, { stored, cached }: VerifyDeps): Descendant | undefined {
  if (stored?.origin === origin)
    return { ...stored, refreshToken: stored.refreshToken, root: true };
  if (cached?.refresh?.by === 'plugin' && cached.refresh.origin === origin) {
    const { token, expiry, refresh } = cached;
    return { token, expiry, refreshToken: refresh.refreshToken, root: false };
  }
  return undefined;
}

function present(tokens: LoginTokens): LoginTokens {
  return Object.fromEntries(
    Object.entries(tokens).filter(([, value]) => value !== undefined && value !== ''),
  );
}

function digest(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex');
}
