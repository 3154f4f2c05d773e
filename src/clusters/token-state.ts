import { peekClaims } from '../credentials/oidc/token.ts';

export interface TokenState {
  /** `exp`, in seconds since the epoch. */
  readonly expires?: number;
  /** `soon`: less than a third of its lifetime is left; `unknown`: it does not say (not a JWT). */
  readonly state: 'good' | 'soon' | 'expired' | 'unknown';
}

/** Assumed where a token says when it ends and not when it began, in seconds. */
const assumedLifetime = 3 * 3600;

/**
 * How long a token of root's is still good for, as it says itself; nothing is verified.
 *
 * A third of its lifetime: with 24 hours and `berth token rotate` every 8 hours that is a timer that
 * has missed two runs, and with the 9 hours of OSC's cron job it is not each login.
 *
 * @param now seconds since the epoch
 */
export function tokenState(token: string | undefined, now: number): TokenState {
  const claims = token === undefined ? undefined : peekClaims(token);
  if (typeof claims?.exp !== 'number') return { state: 'unknown' };
  const { exp: expires, iat, nbf } = claims;
  const began = [iat, nbf].find((time) => typeof time === 'number');
  const lifetime = began === undefined ? assumedLifetime : expires - began;
  const left = expires - now;
  return { expires, state: left <= 0 ? 'expired' : left < lifetime / 3 ? 'soon' : 'good' };
}
