import { hostname } from 'node:os';
import { isKept } from '../desired/reap-namespaces-plan.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import { apiClient, type ApiClient } from '../reconcile/api-client.ts';
import { listUserNamespaces } from '../reconcile/annotate-namespace.ts';
import type { LiveObject } from '../desired/kube-object.ts';
import { takeLease } from '../reconcile/lease.ts';
import { listAll } from '../reconcile/list-all.ts';
import { serverClock } from '../reconcile/server-time.ts';
import type { ClusterTarget } from './cluster-target.ts';
import {
  reapNamespaces,
  type NamespacesOptions,
  type ReapedNamespaces,
} from './reap-namespaces.ts';
import { reapPods, type PodsOptions, type ReapedPods } from './reap-pods.ts';

export interface ReapClusterOptions extends PodsOptions {
  readonly dryRun: boolean;
  /** Label selector of the namespaces in which may be reaped. */
  readonly namespaceSelector: string;
  /** Absent: no namespace is deleted. */
  readonly unused?: NamespacesOptions;
  readonly deadline: AbortSignal;
}

export interface ReapedCluster {
  readonly cluster: string;
  /** Another reaper is at work there, and this one did nothing. */
  readonly busy: boolean;
  readonly pods: ReapedPods;
  readonly namespaces: ReapedNamespaces;
  readonly failed: readonly BerthError[];
}

/** What both kinds of reaping go by. */
export interface ReapRound {
  readonly client: ApiClient;
  readonly dryRun: boolean;
  /** The namespaces of users, without those that are kept. */
  readonly namespaces: readonly LiveObject[];
  /** Every pod of the cluster, its metadata. */
  readonly pods: readonly LiveObject[];
  /** Seconds since the epoch, by the API server. */
  readonly now: () => number;
  readonly ageOf: (object: LiveObject) => number;
  /** To be asked before each deletion: false where another reaper has taken over. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Beside the hook's account. */
const lease = { namespace: 'ondemand', name: 'berth-reaper' };

const nothing = {
  pods: { expired: [], orphaned: [], unreadable: [], later: 0, objects: 0, failed: [] },
  namespaces: { deleted: [], left: [], later: 0, failed: [] },
};

/**
 * Ends what is over on one cluster: pods past their lifetime, and namespaces that nobody uses. Nothing
 * is thrown: what could not be done is among `failed`, and the next run tries again.
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
      // A dry run changes nothing, so it is in nobody's way.
      const held = dryRun ? undefined : await takeLease(client, lease, { holder, now });
      if (!dryRun && held === undefined) return { cluster, busy: true, ...nothing, failed: [] };
      try {
        const mayGoOn =
          held === undefined ? (): Promise<boolean> => Promise.resolve(true) : held.held;
        return { cluster, busy: false, ...(await reap(client, options, now, mayGoOn)) };
      } finally {
        await held?.release();
      }
    } finally {
      client.close();
    }
  } catch (thrown) {
    const error = asBerthError(thrown, `cluster ${cluster}`);
    return { cluster, busy: false, ...nothing, failed: [error] };
  }
}

async function reap(
  client: ApiClient,
  options: ReapClusterOptions,
  now: () => number,
  mayGoOn: () => Promise<boolean>,
): Promise<Omit<ReapedCluster, 'cluster' | 'busy'>> {
  const [namespaces, pods] = await Promise.all([
    listUserNamespaces(client, options.namespaceSelector),
    listAll(client, '/api/v1/pods', { attempted: 'listing the pods', metadataOnly: true }),
  ]);
  const round: ReapRound = {
    ...{ client, dryRun: options.dryRun, pods, now, mayGoOn },
    namespaces: namespaces.filter((live) => !isKept(live)),
    ageOf: ({ metadata }) => now() - Date.parse(metadata.creationTimestamp ?? '') / 1000,
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
