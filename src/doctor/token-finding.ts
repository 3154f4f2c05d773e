import type { ClusterSettings } from '../config/settings.ts';
import type { ApiServer } from '../reconcile/api-server.ts';
import { setupCommand } from '../clusters/setup-command.ts';
import { tokenState } from '../clusters/token-state.ts';
import { failed, type Finding, ok, warning } from '../finding.ts';

/** How long root's own credential for a cluster is good. @param now seconds since the epoch */
export function adminTokenFinding(
  server: ApiServer,
  cluster: ClusterSettings,
  now: number,
): Finding {
  const { name, admin } = cluster;
  if (server.token === undefined) {
    return warning(
      `${admin.file} proves itself with a client certificate, which cannot be taken back`,
      `Give the hook a token of its own: ${setupCommand(cluster, admin.file)}`,
    );
  }
  const { state, expires } = tokenState(server.token, now);
  const when = expires === undefined ? '' : new Date(expires * 1000).toISOString().slice(0, 16);
  const rotate = `Run: berth token rotate --cluster ${name}; and: systemctl enable --now berth-token-rotate.timer`;
  switch (state) {
    case 'good':
      return ok(`the token is good until ${when}Z`);
    case 'soon':
      return warning(`the token expires soon, at ${when}Z`, rotate);
    case 'expired':
      return failed(
        `the token expired at ${when}Z`,
        `It cannot renew itself any more. Run: ${setupCommand(cluster)}; and: systemctl enable --now berth-token-rotate.timer`,
      );
    case 'unknown':
      return warning(
        'the token does not say when it expires: it may be good for ever',
        `Replace it by a short-lived one: ${setupCommand(cluster, admin.file)}`,
      );
  }
}
