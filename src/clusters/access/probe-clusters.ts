import type { ClusterSettings, SiteSettings } from '../../config/schema/settings.ts';
import { asBerthError, BerthError } from '../../errors/berth-error.ts';
import { withApiClient } from '../../kube/api-client.ts';
import { whoAmI } from '../../kube/required-rights.ts';
import { cachingReader, hookAccess, type HookAccessDeps } from './hook-access.ts';
import { type TokenState, tokenState } from './token-state.ts';

/** What a cluster says to the hook. */
export interface ProbedCluster {
  readonly cluster: ClusterSettings;
  /** Of root's token; undefined for a client certificate, and without access. */
  readonly token?: TokenState;
  /** Whom the cluster takes the hook for, and after how many milliseconds it answered. */
  readonly answer?: { readonly account: string; readonly milliseconds: number };
  /** Why there is no answer. */
  readonly error?: BerthError;
}

/**
 * Asks all clusters at the same time who the hook is: one request to each. It writes nothing.
 *
 * @param timeoutMs for each, in milliseconds
 * @param now seconds since the epoch
 */
export function probeClusters(
  { clusters, stateDir }: Pick<SiteSettings, 'clusters' | 'stateDir'>,
  { timeoutMs, now }: { readonly timeoutMs: number; readonly now: number },
): Promise<readonly ProbedCluster[]> {
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
): Promise<ProbedCluster> {
  let token: TokenState | undefined;
  try {
    const server = await hookAccess(cluster, deps);
    token = server.token === undefined ? undefined : tokenState(server.token, now);
    const started = performance.now();
    const account = await withApiClient(server, deps.deadline, whoAmI);
    const milliseconds = Math.round(performance.now() - started);
    return { cluster, token, answer: { account, milliseconds } };
  } catch (thrown) {
    const { endpoint } = cluster.server;
    const error = deps.deadline.aborted
      ? new BerthError(`${endpoint}: no answer within ${timeoutMs / 1000} s`, {
          code: 'api-deadline',
          hint: `Run \`berth doctor --cluster ${cluster.name}\`: it shows which step fails.`,
          cause: thrown,
        })
      : asBerthError(thrown, `asking ${endpoint}`);
    return { cluster, token, error };
  }
}
