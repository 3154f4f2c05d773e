import type { ClusterSettings } from '../config/schema/settings.ts';
import type { ApiServer } from '../kube/api-server.ts';
import { tokenSetupCommand } from '../clusters/token-setup-command.ts';
import { tokenState } from '../clusters/token-state.ts';
import { failed, type Finding, ok, warning } from '../check-result.ts';

/** How long the hook's credential for a cluster is valid. @param now seconds since the epoch */
export function hookTokenFinding(
  server: ApiServer,
  cluster: ClusterSettings,
  now: number,
): Finding {
  const { name, admin } = cluster;
  if (server.token === undefined) {
    return warning(
      `${admin.file} has a client certificate, which cannot be revoked`,
      `Give the hook its own token: ${tokenSetupCommand(cluster, admin.file)}`,
    );
  }
  const { state, expires } = tokenState(server.token, now);
  const when = expires === undefined ? '' : new Date(expires * 1000).toISOString().slice(0, 16);
  const rotate = `Run: berth token rotate --cluster ${name}; and: systemctl enable --now berth-token-rotate.timer`;
  switch (state) {
    case 'good':
      return ok(`the token is valid until ${when}Z`);
    case 'soon':
      return warning(`the token expires soon, at ${when}Z`, rotate);
    case 'expired':
      return failed(
        `the token expired at ${when}Z`,
        `berth token rotate cannot renew an expired token. Run: ${tokenSetupCommand(cluster)}; and: systemctl enable --now berth-token-rotate.timer`,
      );
    case 'unknown':
      return warning(
        'the token has no expiry time and may be valid forever',
        `Replace it with a short-lived one: ${tokenSetupCommand(cluster, admin.file)}`,
      );
  }
}
