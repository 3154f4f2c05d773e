import type { ClusterSettings } from '../../config/schema/settings.ts';
import { decodeUnverifiedClaims } from '../../credentials/oidc/verify-token.ts';

export interface TokenState {
  /** `exp`, in seconds since the epoch. */
  readonly expires?: number;
  /** `iat`, or `nbf` without it; in seconds since the epoch. */
  readonly issued?: number;
  /** `soon`: less than a third of its lifetime is left; `unknown`: not a JWT with an expiry. */
  readonly state: 'good' | 'soon' | 'expired' | 'unknown';
}

/** Lifetime in seconds of a token without `iat` and `nbf`. */
const assumedLifetime = 3 * 3600;

/**
 * The state of root's token by its own claims, without verification.
 *
 * The limit is a third of its lifetime. With 24 hours and `berth token rotate` every 8 hours, the timer has then
 * missed two runs; with the 9 hours of OSC's cron job, not every login warns.
 *
 * @param now seconds since the epoch
 */
export function tokenState(token: string | undefined, now: number): TokenState {
  const claims = token === undefined ? undefined : decodeUnverifiedClaims(token);
  if (typeof claims?.exp !== 'number') return { state: 'unknown' };
  const { exp: expires, iat, nbf } = claims;
  const issued = [iat, nbf].find((time) => typeof time === 'number');
  const lifetime = issued === undefined ? assumedLifetime : expires - issued;
  const left = expires - now;
  return { expires, issued, state: left <= 0 ? 'expired' : left < lifetime / 3 ? 'soon' : 'good' };
}

/** The command that creates a token for the hook; a cluster of Cluster API needs no admin kubeconfig. */
export function tokenSetupCommand(
  { name, admin }: Pick<ClusterSettings, 'name' | 'admin'>,
  from = 'ADMIN_KUBECONFIG',
): string {
  const command = `berth token setup --cluster ${name}`;
  return admin.kind === 'cluster-api' ? command : `${command} --from ${from}`;
}
