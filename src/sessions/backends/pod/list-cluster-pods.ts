import { notEndedPods, endPod } from './cluster-pods.ts';
import { podSelector } from './objects/pod-object.ts';
import { deadlineIn } from '../../../system/deadline.ts';
import { requestToken, serverWithToken } from '../../../kube/request-token.ts';
import { listUserNamespaces, reduceListPages } from '../../../kube/list-all.ts';

import type { ApiServer } from '../../../kube/api-server.ts';
import { withApiClient } from '../../../kube/api-client.ts';
import { installedPath } from '../../../system/program/installed-path.ts';
import {
  asBerthError,
  BerthError,
  expectBerthError,
  withHint,
} from '../../../system/errors/berth-error.ts';
import type { ClusterTarget } from '../../../clusters/access/cluster-target.ts';
import type { PodMetric } from '@kubernetes/client-node';
import { parseQuantityNano } from '../../../config/schema/parse-quantity.ts';
import type { KubeJson, LiveObject } from '../../../kube/objects/kube-object.ts';
import {
  annotations as names,
  namespaceLabel,
  sessionServiceAccount,
} from '../../../kube/objects/well-known-names.ts';
import { openNodes } from './objects/node-claim.ts';
import { type PodSession, type PodOwner, type PodUsage, podSession } from './pod-session.ts';

/**
 * The pods of all users' SSH sessions on a cluster, whichever login node they were opened on.
 *
 * @param now milliseconds since the epoch
 * @throws {BerthError} what `reach` throws, the `api-…` errors
 */
export async function listClusterPods(
  target: ClusterTarget,
  deadline: AbortSignal,
  now: number,
): Promise<readonly PodSession[]> {
  const server = await target.reach(deadline);
  try {
    return await withApiClient(server, deadline, async (client) => {
      const [namespaces, usages] = await Promise.all([
        listUserNamespaces(client, `${namespaceLabel.key}=${namespaceLabel.value}`),
        podUsages(server),
      ]);
      const place = { cluster: target.name, owners: podOwners(namespaces, now), usages };
      const pods = await reduceListPages(client, '/api/v1/pods', {
        attempted: 'listing the pods of sessions',
        labelSelector: podSelector,
        fieldSelector: notEndedPods,
        begin: (): PodSession[] => [],
        add: (all, pod) => {
          const session = podSession(pod, place);
          if (session !== undefined) all.push(session);
        },
      });
      return pods.toSorted((a, b) => a.opened - b.opened || (a.uid < b.uid ? -1 : 1));
    });
  } catch (thrown) {
    throw explained(thrown);
  }
}

/** How long a list waits for metrics. Milliseconds. */
const metricsMs = 4_000;

/**
 * By namespace and name. Empty if the cluster has no metrics.k8s.io, this account may not read it, or it does not answer:
 * a list does not depend on it.
 */
async function podUsages(server: ApiServer): Promise<ReadonlyMap<string, PodUsage>> {
  try {
    return await withApiClient(server, deadlineIn(metricsMs).signal, (client) =>
      reduceListPages(client, '/apis/metrics.k8s.io/v1beta1/pods', {
        attempted: 'listing what pods use',
        labelSelector: podSelector,
        begin: () => new Map<string, PodUsage>(),
        add: (all, metric) => {
          const usage = podUsage(metric);
          const { namespace = '', name } = metric.metadata;
          if (usage !== undefined) all.set(`${namespace}/${name}`, usage);
        },
      }),
    );
  } catch (error) {
    expectBerthError(error);
    return new Map();
  }
}

/**
 * Deletes a pod with the account of its user's sessions, so that a login node needs no right to delete pods elsewhere.
 *
 * @returns whether it was still there
 * @throws {BerthError} `session-not-ended`, what `reach` throws, the `api-…` errors
 */
export async function endPodSession(
  target: ClusterTarget,
  { namespace, name, uid }: PodSession,
  deadline: AbortSignal,
): Promise<boolean> {
  const server = await target.reach(deadline);
  // The API server keeps a token valid for at least ten minutes.
  const { token } = await withApiClient(server, deadline, (client) =>
    requestToken(client, { namespace, account: sessionServiceAccount, lifetimeSeconds: 600 }),
  );
  return withApiClient(serverWithToken(server, token), deadline, (client) =>
    endPod(client, { namespace, name, uid }),
  );
}

function explained(thrown: unknown): BerthError {
  const error = asBerthError(thrown, 'listing the pods of sessions');
  return error.code === 'api-forbidden'
    ? withHint(
        error,
        `Permit it to the login nodes, where you are an admin of the cluster: write their account into a copy of ${installedPath('share/etc/kubernetes/ssh-sessions-list/ssh-sessions-list.yaml')} if it has another name, and run \`kubectl apply -f FILE\` with the copy.`,
      )
    : error;
}

/** The owners by namespace. @param now milliseconds since the epoch */
export function podOwners(
  namespaces: readonly LiveObject[],
  now: number,
): ReadonlyMap<string, PodOwner> {
  return new Map(
    namespaces.map(({ metadata: { name, annotations = {} } }) => [
      name,
      { user: annotations[names.owner], openNodes: openNodes(annotations, now) },
    ]),
  );
}

/** Whether a session on this login node runs in the pod. */
export function isInPod(
  session: { readonly backend: string | undefined } & Partial<Pick<PodSession, 'name' | 'user'>>,
  pod: PodSession,
): boolean {
  return session.backend === 'pod' && session.name === pod.name && session.user === pod.user;
}

/**
 * The usage in a PodMetrics object of metrics.k8s.io/v1beta1: the sum of its containers.
 *
 * @returns undefined if it is not one, or has no container yet
 */
export function podUsage(metric: unknown): PodUsage | undefined {
  const { containers } = (metric ?? {}) as Partial<KubeJson<PodMetric>>;
  if (!Array.isArray(containers) || containers.length === 0) return undefined;
  let [cpu, memory] = [0n, 0n];
  for (const one of containers as readonly Partial<KubeJson<PodMetric>['containers'][number]>[]) {
    const amounts = [parseQuantityNano(one.usage?.cpu), parseQuantityNano(one.usage?.memory)];
    const [ownCpu, ownMemory] = amounts;
    if (ownCpu === undefined || ownMemory === undefined) return undefined;
    cpu += ownCpu;
    memory += ownMemory;
  }
  return { cpuCores: Number(cpu) / 1e9, memoryBytes: Math.round(Number(memory) / 1e9) };
}
