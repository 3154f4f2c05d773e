import type { ReapContext } from './reap-context.ts';
import { hostname } from 'node:os';
import type { ClusterTarget } from '../access/cluster-target.ts';
import type { ObjectMeta } from '../../kube/objects/kube-object.ts';
import { asBerthError, type BerthError, withHint } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { apiClient, type ApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import { listUserNamespaces, reduceListPages } from '../../kube/list-all.ts';
import { acquireLease } from './lease.ts';
import {
  type NamespacesOptions,
  type ReapedNamespaces,
  reapNamespaces,
} from './reap-namespaces.ts';
import { type PodsOptions, type ReapedPods, reapPods } from './reap-pods.ts';
import { isKept } from './rules/reap-namespaces-plan.ts';
import { PodTally } from './rules/reap-pods-plan.ts';

export interface ReapClusterOptions extends PodsOptions {
  readonly dryRun: boolean;
  /** Label selector of the namespaces that are reaped. */
  readonly namespaceSelector: string;
  /** Absent: no namespace is deleted. */
  readonly unused?: NamespacesOptions;
  readonly deadline: AbortSignal;
  /** Aborts some time before `deadline`: no deletion is begun afterwards, and what was deleted can be reported. */
  readonly lastDeletion?: AbortSignal;
}

export interface ReapedCluster {
  readonly cluster: string;
  /** Another reaper holds the lease, and this one did nothing. */
  readonly busy: boolean;
  readonly pods: ReapedPods;
  readonly namespaces: ReapedNamespaces;
  readonly failed: readonly BerthError[];
}

/** In the namespace of the hook's account. */
const lease = { namespace: 'ondemand', name: 'berth-reaper' };

const nothing = {
  pods: {
    expired: [],
    orphaned: [],
    unreadable: [],
    stuck: [],
    later: 0,
    objects: 0,
    failed: [],
  },
  namespaces: { deleted: [], left: [], later: 0, failed: [] },
};

const ownAccount = `The reaper has an account of its own, because the portal's may not list pods: apply ${installedPath('share/etc/kubernetes/reaper')}; on a host, also make that account's token and name its configuration with --config /etc/berth/reaper.yml, as ${installedPath('share/docs/cluster-reap.md')} says.`;

/**
 * Deletes expired pods and unused namespaces of one cluster. Does not throw: errors are in `failed`, and
 * the next run tries again.
 */
export async function reapCluster(
  target: ClusterTarget,
  options: ReapClusterOptions,
): Promise<ReapedCluster> {
  const cluster = target.name;
  const { deadline, dryRun } = options;
  try {
    const client = apiClient(await target.reach(deadline), deadline);
    try {
      const now = await serverClock(client);
      const holder = `${hostname()}-${process.pid}`;
      // A dry run changes nothing and needs no lease.
      const held = dryRun ? undefined : await acquireLease(client, lease, { holder, now });
      if (!dryRun && held === undefined) return { cluster, busy: true, ...nothing, failed: [] };
      try {
        const mayGoOn = async (): Promise<boolean> =>
          options.lastDeletion?.aborted !== true && (held === undefined || (await held.held()));
        return { cluster, busy: false, ...(await reap(client, options, now, mayGoOn)) };
      } finally {
        // What was deleted is reported in any case: the lease expires by itself after a minute.
        await held?.release().catch(() => undefined);
      }
    } finally {
      client.close();
    }
  } catch (thrown) {
    const error = asBerthError(thrown, `cluster ${cluster}`);
    const failed = error.code === 'api-forbidden' ? withHint(error, ownAccount, error) : error;
    return { cluster, busy: false, ...nothing, failed: [failed] };
  }
}

async function reap(
  client: ApiClient,
  options: ReapClusterOptions,
  now: () => number,
  mayGoOn: () => Promise<boolean>,
): Promise<Omit<ReapedCluster, 'cluster' | 'busy'>> {
  const namespaces = (await listUserNamespaces(client, options.namespaceSelector)).filter(
    (live) => !isKept(live),
  );
  const names = new Set(namespaces.map(({ metadata }) => metadata.name));
  const podsOf = (labelSelector?: string): Promise<PodTally> =>
    reduceListPages(client, '/api/v1/pods', {
      attempted: 'listing the pods',
      metadataOnly: true,
      labelSelector,
      begin: () => new PodTally(names, { now: now(), secondsOf }),
      add: (seen, pod) => seen.add(pod),
    });
  const round: ReapContext = {
    client,
    dryRun: options.dryRun,
    namespaces,
    podsOf,
    now,
    secondsOf,
    mayGoOn,
    pods: await podsOf(),
    ageOf: ({ metadata }) => now() - secondsOf(metadata.creationTimestamp),
  };
  const reapedPods = await reapPods(round, options);
  const reapedNamespaces =
    options.unused === undefined ? nothing.namespaces : await reapNamespaces(round, options.unused);
  return {
    pods: reapedPods,
    namespaces: reapedNamespaces,
    failed: [...reapedPods.failed, ...reapedNamespaces.failed],
  };
}

/** RFC 3339, as the API server writes times. @returns Seconds since the epoch */
function secondsOf(timestamp: string | undefined): number {
  return Date.parse(timestamp ?? '') / 1000;
}

/**
 * The API server's clock. Ages are computed with it, since it wrote the creation times: a host whose
 * clock is an hour ahead would delete all pods an hour early.
 *
 * @returns A function that returns the present time in seconds since the epoch.
 * @throws the `api-…` errors
 */
async function serverClock(client: ApiClient): Promise<() => number> {
  const answer = await client.send({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    contentType: 'application/json',
    body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
  });
  if (answer.status !== 201) throw apiError('reading the time of the API server', answer);
  const { creationTimestamp } = answer.body.metadata as Required<
    Pick<ObjectMeta, 'creationTimestamp'>
  >;
  const then = Date.parse(creationTimestamp) / 1000;
  const started = performance.now();
  return () => then + (performance.now() - started) / 1000;
}
