import { readOidc } from '../cluster-discovery/read-management.ts';
import type { OidcArguments } from '../cluster-discovery/rules/oidc-arguments.ts';
import {
  type CheckResult,
  failed,
  failedWith,
  type Finding,
  ok,
  runCheck,
  skipped,
} from '../check-result.ts';
import type { ClusterSettings } from '../config/schema/settings.ts';
import { BerthError } from '../errors/berth-error.ts';
import { oidcSettingsOf } from '../config/schema/oidc-settings-of.ts';

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
      if (!(thrown instanceof BerthError)) throw thrown;
      if (thrown.code === 'api-forbidden')
        return skipped(`${management.file} may not read the Cluster ${management.cluster}`);
      return failedWith(thrown);
    }
  };
  return [await runCheck({ id: 'cluster-api-oidc', cluster: name, run }, timeoutMs)];
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
