import {
  type CheckResult,
  failed,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import { readOidc } from '../../clusters/access/capi-oidc.ts';
import type { OidcArguments } from '../../clusters/access/rules/oidc-arguments.ts';
import { tokenSetupCommand, tokenState } from '../../clusters/access/token-state.ts';
import { type ClusterSettings, oidcSettingsOf } from '../../config/schema/settings.ts';
import { expectBerthError } from '../../system/errors/berth-error.ts';
import type { ApiServer } from '../../kube/api-server.ts';

/** Compares the OIDC settings that Cluster API gives a cluster's API servers with Berth's. */
export async function checkClusterApi(
  cluster: ClusterSettings,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const { admin, name } = cluster;
  if (admin.kind !== 'cluster-api' || oidcSettingsOf(cluster) === undefined) return [];
  const { management } = admin;
  const run = async (signal: AbortSignal): Promise<Finding> => {
    try {
      const found = await readOidc(management, signal);
      return found === undefined
        ? skipped('the management cluster does not say how the API servers take tokens')
        : oidcFinding(found, cluster);
    } catch (thrown) {
      expectBerthError(thrown);
      if (thrown.code === 'api-forbidden')
        return skipped(`${management.file} may not read the Cluster ${management.cluster}`);
      return failedWith(thrown);
    }
  };
  return [await runCheck('cluster-api-oidc', run, timeoutMs, name)];
}

function oidcFinding(found: OidcArguments, cluster: ClusterSettings): Finding {
  const settings = oidcSettingsOf(cluster);
  const differences = [
    ['subject_prefix', found.usernamePrefix, cluster.subjectPrefix],
    ['credentials.issuer', found.issuer, settings?.issuer],
    ['credentials.audience', found.audience, settings?.audience],
    ['credentials.username_claim', found.usernameClaim, settings?.usernameClaim],
  ].filter(([, wanted, present]) => wanted !== present);
  if (differences.length === 0)
    return ok(
      `the API servers take tokens as Berth's settings say (prefix '${found.usernamePrefix}')`,
    );
  const said = differences.map(
    ([key = '', wanted = '', present = '']) => `${key} is '${present}', there it is '${wanted}'`,
  );
  return failed(
    `Berth's settings differ from those of the API servers in Cluster API: ${said.join('; ')}`,
    `Correct these keys below clusters.NAME in berth.yml, or run \`berth clusters discover\`.`,
  );
}

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
  const rotate = `Run \`berth token rotate --cluster ${name}\`, then \`systemctl enable --now berth-token-rotate.timer\`.`;
  switch (state) {
    case 'good':
      return ok(`the token is valid until ${when}Z`);
    case 'soon':
      return warning(`the token expires soon, at ${when}Z`, rotate);
    case 'expired':
      return failed(
        `the token expired at ${when}Z`,
        `Run \`${tokenSetupCommand(cluster)}\`, then \`systemctl enable --now berth-token-rotate.timer\`.`,
      );
    case 'unknown':
      return warning(
        'the token has no expiry time and may be valid forever',
        `Replace it with a short-lived one: ${tokenSetupCommand(cluster, admin.file)}`,
      );
  }
}
