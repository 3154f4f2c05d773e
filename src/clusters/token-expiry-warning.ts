import type { ClusterSettings } from '../config/settings.ts';
import type { Logger } from '../log.ts';
import { tokenSetupCommand } from './token-setup-command.ts';
import { tokenState } from './token-state.ts';

/**
 * Warns in the log of each login if the hook's token has expired or expires soon, by the token's own
 * claims, without a request. Codes `hook-token-expired`, `hook-token-ends-soon`.
 *
 * @param token the token in root's kubeconfig, which `berth token rotate` renews
 * @param now seconds since the epoch
 */
export function warnOfTokenExpiry(
  token: string | undefined,
  cluster: Pick<ClusterSettings, 'name' | 'admin'>,
  now: number,
  log: Logger,
): void {
  const { name, admin } = cluster;
  const { state, expires = 0 } = tokenState(token, now);
  if (state !== 'expired' && state !== 'soon') return;
  const when = `${new Date(expires * 1000).toISOString().slice(0, 19)}Z`;
  const enable = 'systemctl enable --now berth-token-rotate.timer';
  if (state === 'soon')
    log.warning(`the hook's token in ${admin.file} expires soon, at ${when}`, {
      cluster: name,
      code: 'hook-token-ends-soon',
      hint: `Run: berth token rotate --cluster ${name}; and: ${enable}`,
    });
  else
    log.warning(`the hook's token in ${admin.file} expired at ${when}`, {
      cluster: name,
      code: 'hook-token-expired',
      hint: `berth token rotate cannot renew an expired token. Run: ${tokenSetupCommand(cluster)}; and: ${enable}`,
    });
}
