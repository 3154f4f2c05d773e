import {
  cachingReader,
  hookAccess,
  type HookAccessDeps,
} from '../../clusters/access/hook-access.ts';
import {
  type TokenState,
  tokenSetupCommand,
  tokenState,
} from '../../clusters/access/token-state.ts';
import type { CheckStatus } from '../../system/errors/check-result.ts';
import type { ClusterSettings, SiteSettings } from '../../config/schema/settings.ts';
import { hookTokenFinding } from '../../diagnose/doctor/cluster-api-check.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { withApiClient } from '../../kube/api-client.ts';
import { whoAmI } from '../../kube/required-rights.ts';
import { timeOrNull } from '../kit/document-parts.ts';
import { documentError } from '../kit/terminal.ts';
import type { ClusterStatus } from './host-status.ts';

/**
 * Asks all clusters at the same time who the hook is: one request to each. It writes nothing.
 *
 * @param timeoutMs for each, in milliseconds
 * @param now seconds since the epoch
 */
export function askClusters(
  { clusters, stateDir }: Pick<SiteSettings, 'clusters' | 'stateDir'>,
  timeoutMs: number,
  now: number,
): Promise<readonly ClusterStatus[]> {
  const shared = { stateDir, remember: false, read: cachingReader(), documents: new Map() };
  return Promise.all(
    clusters.map((cluster) => {
      const deadline = AbortSignal.timeout(timeoutMs);
      return ask(cluster, { ...shared, clusterCount: clusters.length, deadline }, timeoutMs, now);
    }),
  );
}

async function ask(
  cluster: ClusterSettings,
  deps: HookAccessDeps,
  timeoutMs: number,
  now: number,
): Promise<ClusterStatus> {
  const { endpoint } = cluster.server;
  let token: TokenState | undefined;
  let account: string | null = null;
  let milliseconds: number | null = null;
  let error: BerthError | undefined;
  let status: CheckStatus = 'failed';
  try {
    const server = await hookAccess(cluster, deps);
    token = server.token === undefined ? undefined : tokenState(server.token, now);
    const started = performance.now();
    account = await withApiClient(server, deps.deadline, whoAmI);
    milliseconds = Math.round(performance.now() - started);
    ({ status } = hookTokenFinding(server, cluster, now));
  } catch (thrown) {
    error = deps.deadline.aborted
      ? new BerthError('api-deadline', `${endpoint}: no answer within ${timeoutMs / 1000} s`, {
          hint: `Run \`berth doctor --cluster ${cluster.name}\`: it shows which step fails.`,
          cause: thrown,
        })
      : asBerthError(thrown, `asking ${endpoint}`);
  }
  return {
    status,
    cluster: cluster.name,
    server: endpoint,
    account,
    milliseconds,
    token: token?.state ?? null,
    tokenIssued: timeOrNull(token?.issued),
    tokenExpires: timeOrNull(token?.expires),
    ...(error && {
      error: {
        ...documentError(error),
        ...(token?.state === 'expired' && { next: tokenSetupCommand(cluster) }),
      },
    }),
  };
}
