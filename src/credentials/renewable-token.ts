import { createHash } from 'node:crypto';
import type { OidcSettings } from '../config/settings.ts';
import { type CredentialCache, isFresh } from './credential-cache.ts';
import {
  type ObtainContext,
  obtainByOwnRefresh,
  obtainByRefresh,
  type ObtainedToken,
  obtainToken,
} from './oidc/obtain-token.ts';
import { type Heir, newestHeir } from './refresh-token-lineage.ts';
import type { StoredCredential } from './root-store.ts';
import type { Issuer } from './oidc/issuer.ts';
import { BerthError, type ErrorCode } from '../errors.ts';
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
  /** What came of the portal's refresh tokens for other clusters of this user. */
  readonly heirs?: readonly Partial<Heir>[];
  /**
   * Is given what must be kept if the hook dies in the next moment: the refresh token that replaced
   * the one that was used.
   */
  readonly keep?: (next: Heir & { readonly own?: boolean }) => void | Promise<void>;
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
  readonly turn?: number;
  /** See `StoredCredential`. */
  readonly own?: boolean;
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
  const heir = heirOf(given.refreshToken, deps);
  const rest = heir ?? {};
  const { stored } = deps;
  // Only what root kept is to be trusted unseen; a user's file is the user's word.
  const known = heir !== undefined && stored?.origin === heir.origin ? stored : undefined;

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
  if (settings.ownRefreshToken === true) return ownLogin(context, given, deps);
  // An exchange costs a round trip: not for a session whose last one still holds.
  if (settings.exchange && known !== undefined && isFresh(known, deps.now() + longEnoughSeconds)) {
    return { token: known.token, expiry: known.expiry, ...rest };
  }
  try {
    const { token, claims } = await obtainToken(context, given);
    return { token, expiry: claims.expiry, ...rest };
  } catch (error) {
    if (!hasCode(error, 'token-expired') || heir === undefined) throw error;
  }
  // What the portal gave has ended; what was had with its refresh token since then may not have.
  if (known !== undefined && isFresh(known, deps.now())) {
    return { token: known.token, expiry: known.expiry, ...rest };
  }
  if (deps.mayRefresh === false) throw refreshNeeded();
  const next = { origin: heir.origin, turn: (heir.turn ?? 0) + 1 };
  const renewed = await obtainByRefresh(context, heir.refreshToken, (refreshToken) =>
    deps.keep?.({ ...next, refreshToken }),
  );
  return {
    token: renewed.token,
    expiry: renewed.claims.expiry,
    refreshToken: renewed.refreshToken,
    ...next,
  };
}

/**
 * With a refresh token that is not the portal's: each of the two may renew, and end, without the other. So
 * the portal's is never used: where it is single-use, the portal's session would end with it.
 */
async function ownLogin(
  context: ObtainContext,
  given: LoginTokens,
  { stored, now, keep }: VerifyDeps,
): Promise<VerifiedLogin> {
  try {
    return ownResult(await obtainToken(context, given));
  } catch (error) {
    if (!hasCode(error, 'token-expired')) throw error;
    const { own, refreshToken, origin, token = '', expiry = 0, turn = 0 } = stored ?? {};
    if (own !== true || refreshToken === undefined || origin === undefined) throw error;
    if (isFresh({ expiry }, now())) return { token, expiry, refreshToken, origin, turn, own };
    const next = { origin, turn: turn + 1, own };
    const renewed = await obtainByOwnRefresh(context, refreshToken, (newest) =>
      keep?.({ ...next, refreshToken: newest }),
    );
    const { claims, ...credential } = renewed;
    return { ...next, ...credential, expiry: claims.expiry };
  }
}

function ownResult({ token, claims, ownRefreshToken }: ObtainedToken): VerifiedLogin {
  const { expiry } = claims;
  if (ownRefreshToken === undefined) return { token, expiry };
  return {
    token,
    expiry,
    refreshToken: ownRefreshToken,
    origin: originOf(ownRefreshToken),
    own: true,
  };
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof BerthError && error.code === code;
}

const longEnoughSeconds = 120;

function refreshNeeded(): BerthError {
  return new BerthError('the token of the login has ended', {
    code: 'refresh-needed',
    exit: 'temporary',
    hint: 'It is renewed with the refresh token, under a lock.',
  });
}

/** The portal's refresh token, or what came of it since. */
function heirOf(
  refreshToken: string | undefined,
  { stored, cached, heirs = [] }: VerifyDeps,
): Heir | undefined {
  if (refreshToken === undefined) return undefined;
  const given: Heir = { refreshToken, origin: originOf(refreshToken) };
  const inFile = cached?.refresh?.by === 'plugin' ? cached.refresh : {};
  const { origin, turn, ...newest } =
    newestHeir(given.origin, [stored ?? {}, inFile, ...heirs, given]) ?? given;
  return { refreshToken: newest.refreshToken, origin, ...(turn !== undefined && { turn }) };
}

function present(tokens: LoginTokens): LoginTokens {
  return Object.fromEntries(
    Object.entries(tokens).filter(([, value]) => value !== undefined && value !== ''),
  );
}

/** What a refresh token's heirs are known by: SHA-256 in hex. */
export function originOf(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex');
}
