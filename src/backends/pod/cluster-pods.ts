import type { ClusterTarget } from '../../clusters/cluster-target.ts';
import { objectPath } from '../../kube/objects/kube-object.ts';
import { namespaceLabel, sessionServiceAccount } from '../../kube/objects/well-known-names.ts';
import { asBerthError, BerthError, withHint } from '../../errors/berth-error.ts';
import { installedPath } from '../../installed-path.ts';
import { type ApiClient, withApiClient } from '../../kube/api-client.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { deleteObject, type PodId, waitForPodDeletion } from '../../kube/delete-object.ts';
import { listUserNamespaces, reduceListPages } from '../../kube/list-all.ts';
import { requestToken, serverWithToken } from '../../kube/request-token.ts';
import { deadlineIn } from '../../system/deadline.ts';
import { podSelector } from './objects/pod-object.ts';
import { readPod } from './read-pod.ts';
import { podOwners, podSession, type PodSession, podUsage, type PodUsage } from './pod-session.ts';

/** Quotas do not count those that have ended, so that a user could make any number of them. */
export const notEndedPods = 'status.phase!=Succeeded,status.phase!=Failed';

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
        ...{ attempted: 'listing the pods of sessions', labelSelector: podSelector },
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
        ...{ attempted: 'listing what pods use', labelSelector: podSelector },
        begin: () => new Map<string, PodUsage>(),
        add: (all, metric) => {
          const usage = podUsage(metric);
          const { namespace = '', name } = metric.metadata;
          if (usage !== undefined) all.set(`${namespace}/${name}`, usage);
        },
      }),
    );
  } catch (error) {
    if (error instanceof BerthError) return new Map();
    throw error;
  }
}

/** How long the node of a pod may take to end it. Milliseconds. */
const patienceMs = 30_000;

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

/**
 * Deletes a pod and waits for its end.
 *
 * @returns whether it was still there
 * @throws {BerthError} `session-not-ended`, the `api-…` errors
 */
export async function endPod(client: ApiClient, pod: PodId): Promise<boolean> {
  const { namespace, name, uid } = pod;
  const what = `pod ${namespace}/${name}`;
  const path = objectPath({ kind: 'Pod', metadata: { name, namespace } });
  const how = { preconditions: { uid }, gracePeriodSeconds: 1 };
  if (!(await deleteObject(client, { what, path, ...how }))) return false;
  await waitForPodDeletion(client, pod, patienceMs);
  if ((await readPod(client, pod))?.metadata?.uid === uid) throw notEnded(what);
  return true;
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

function notEnded(what: string): BerthError {
  return new BerthError(`${what} is deleted, but still exists`, { code: 'session-not-ended' });
}
