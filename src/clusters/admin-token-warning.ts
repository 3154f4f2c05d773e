import type { ClusterSettings } from '../config/settings.ts';
import type { Logger } from '../log.ts';
import { setupCommand } from './setup-command.ts';
import { tokenState } from './token-state.ts';

/**
 * Tells the admin in the log of each login that the hook's own token is over or ends soon, from what
 * the token says itself: nobody is asked for it. Codes `hook-token-expired`, `hook-token-ends-soon`.
 *
 * @param token of root's kubeconfig on this host, which `berth token rotate` renews
 * @param now seconds since the epoch
 */
export function warnOfTokenEnd(
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
    log.warning(`the hook's token in ${admin.file} ends soon, at ${when}`, {
      cluster: name,
      code: 'hook-token-ends-soon',
      hint: `Run: berth token rotate --cluster ${name}; and: ${enable}`,
    });
  else
    log.warning(`the hook's token in ${admin.file} ended at ${when}`, {
      cluster: name,
      code: 'hook-token-expired',
      hint: `berth token rotate cannot renew it any more. Run: ${setupCommand(cluster)}; and: ${enable}`,
    });
}
