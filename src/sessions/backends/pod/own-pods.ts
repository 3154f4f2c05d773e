import type { SessionContext } from '../../connections/state-paths.ts';
import { asBerthError, BerthError } from '../../../system/errors/berth-error.ts';
import type { User } from '../../../system/identity/nss.ts';
import { type ApiClient, withApiClient } from '../../../kube/api-client.ts';
import { reduceListPages } from '../../../kube/list-all.ts';
import { collectionPath, type LiveObject } from '../../../kube/objects/kube-object.ts';
import { sessionEnd } from '../../request/shown-session-end.ts';
import { deadlineIn } from '../../../system/deadline.ts';
import type { OwnSession, OwnSessions } from '../own-session.ts';
import { endPod, notEndedPods } from './cluster-pods.ts';
import { podLabels, podSelector } from './objects/pod-object.ts';
import type { PodGrant } from './pod-grant-file.ts';
import { receivedGrants } from './pod-handover.ts';
import { podSession } from './pod-session.ts';

/** How long a cluster may take to answer, and to end a pod. Milliseconds. */
const [answerMs, endMs] = [5_000, 40_000];

/** Quotas do not limit what a user creates by other means. */
const mostPods = 200;

/** The pods of the sessions of the user who runs this process, on all clusters, with the grants of this connection. */
export async function ownPods(
  { settings }: Pick<SessionContext, 'settings'>,
  user: User,
): Promise<OwnSessions> {
  const { found, failed } = await onEachCluster(user, async (client, grant) => {
    const { cluster, namespace } = grant;
    const owners = new Map([[namespace, { user: user.name, openNodes: [] }]]);
    return reduceListPages(client, collectionPath('Pod', namespace), {
      attempted: 'listing your pods',
      labelSelector: podSelector,
      fieldSelector: notEndedPods,
      begin: (): OwnSession[] => [],
      enough: (all) => all.length >= mostPods,
      add: (all, pod) => {
        const own = podSession(pod, { cluster, owners, usages: new Map() });
        if (own !== undefined) all.push(ownPod(pod, own, { grant, settings }));
      },
    });
  });
  return { sessions: found.flat(), failed };
}

function ownPod(
  pod: LiveObject,
  {
    name,
    namespace,
    uid,
    profileLabel,
    status,
    opened,
  }: NonNullable<ReturnType<typeof podSession>>,
  { grant, settings }: { readonly grant: PodGrant } & Pick<SessionContext, 'settings'>,
): OwnSession {
  const connection = pod.metadata.labels?.[podLabels.connection];
  return {
    name,
    profile: profileLabel,
    backend: 'pod',
    cluster: grant.cluster,
    state: status.toLowerCase(),
    since: opened === 0 ? undefined : opened * 1000,
    connections: connection === undefined ? undefined : 1,
    ends: sessionEnd(settings.profiles.get(profileLabel ?? ''), connection, opened * 1000),
    end: async () => {
      const { signal } = deadlineIn(endMs);
      await withApiClient(grant.server, signal, (client) =>
        endPod(client, { namespace, name, uid }),
      );
    },
  };
}

/** The same error, with the cluster in its message. */
function ofCluster({ cluster }: PodGrant, error: BerthError): BerthError {
  const { message, code, exit, hint, fields, cause } = error;
  return new BerthError(code, `cluster ${cluster}: ${message}`, { exit, hint, fields, cause });
}

/** Does the same on all clusters at once; one that fails affects only itself. */
export async function onEachCluster<T>(
  user: User,
  work: (client: ApiClient, grant: PodGrant) => Promise<T>,
): Promise<{ readonly found: readonly T[]; readonly failed: readonly BerthError[] }> {
  const { grants, failed } = receivedGrants(user);
  const outcomes = await Promise.all(
    grants.map(async (grant) => {
      try {
        const { signal } = deadlineIn(answerMs);
        return { found: await withApiClient(grant.server, signal, (one) => work(one, grant)) };
      } catch (thrown) {
        return { error: ofCluster(grant, asBerthError(thrown, 'asking it')) };
      }
    }),
  );
  return {
    found: outcomes.flatMap(({ found }) => (found === undefined ? [] : [found])),
    failed: [...failed, ...outcomes.flatMap(({ error }) => error ?? [])],
  };
}
