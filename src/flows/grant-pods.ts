import type { SshSettings } from '../config/profile.ts';
import type { ClusterSettings } from '../config/settings.ts';
import { objectPath, type KubeObject } from '../desired/kube-object.ts';
import { sessionServiceAccount } from '../desired/names.ts';
import { asBerthError } from '../errors.ts';
import { namespaceOf } from '../identity/names.ts';
import type { User } from '../identity/user.ts';
import type { Logger } from '../log.ts';
import { apiClient, type ApiClient } from '../reconcile/api-client.ts';
import { apiError, applyError } from '../reconcile/api-errors.ts';
import { applyRequest } from '../reconcile/requests.ts';
import { requestToken } from '../reconcile/request-token.ts';
import { deadlineIn } from '../system/deadline.ts';
import { adminAccess, type AccessDeps } from './admin-access.ts';
import { bootstrapUser } from './bootstrap-user.ts';
import { loadSettings } from './load-settings.ts';
import { readLoginRecord } from './login-record.ts';
import { readPodAccess, removePodAccess, writePodAccess } from './pod-access.ts';
import { podCluster, podProfiles } from './pod-cluster.ts';
import type { SessionSite } from './session-site.ts';

type SessionCluster = ReturnType<typeof podCluster>;

export interface PodSite extends Pick<SessionSite, 'run'> {
  readonly settings: Pick<SshSettings, 'profiles' | 'rules'>;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The API server gives no token for less than ten minutes. A session that runs outlives its token. */
const lifetimeSeconds = 3600;

/**
 * What a user's sessions in pods need of a cluster: all that a portal login makes, by the same flow, and
 * a token of the user's own account for sessions. One that is good for half its life is left as it is.
 *
 * A cluster that fails costs its own sessions only: it is logged, and the login says that there is no way.
 */
export async function grantPods(site: PodSite, user: User): Promise<void> {
  const { log, run } = site;
  const { clusters, deps } = await sessionClusters(site, user);
  await Promise.all(
    clusters.map(async (cluster) => {
      const seconds = site.now() / 1000;
      const held = readPodAccess({ run }, user.uid, cluster.name);
      if (held !== undefined && held.expiry - seconds > lifetimeSeconds / 2) return;
      try {
        await grant(site, user, cluster, deps);
      } catch (thrown) {
        log.error(asBerthError(thrown, `pods on cluster ${cluster.name}`), {
          user: user.name,
          cluster: cluster.name,
        });
      }
    }),
  );
}

/**
 * Ends what `grantPods` gave: with the Secret the tokens are dead, wherever they have got to.
 *
 * @returns How many clusters it was taken away on.
 * @throws {BerthError} the `api-…` errors, where the Secret may still be there
 */
export async function revokePods(site: PodSite, user: User): Promise<number> {
  const { clusters, deps } = await sessionClusters(site, user);
  const { run } = site;
  const held = clusters.filter(({ name }) => readPodAccess({ run }, user.uid, name) !== undefined);
  for (const cluster of held) {
    const client = apiClient(await adminAccess(cluster, deps), deps.deadline);
    try {
      const secret = secretOf(cluster, user);
      const answer = await client.send({ method: 'DELETE', path: objectPath(secret) });
      if (answer.status !== 200 && answer.status !== 404)
        throw apiError(`ending the tokens of ${user.name}`, answer);
    } finally {
      client.close();
    }
    removePodAccess({ run }, user.uid, cluster.name);
  }
  return held.length;
}

async function grant(
  { run, log, now }: PodSite,
  user: User,
  cluster: SessionCluster,
  deps: AccessDeps & { readonly known: readonly string[] },
): Promise<void> {
  const [made] = bootstrapUser({
    ...{ user, clusters: [cluster], now: now() / 1000, known: deps.known, access: deps, log },
    deadline: deadlineIn(patienceMs),
    onConnected: () => undefined,
  });
  const outcome = await made;
  if (outcome?.error !== undefined) throw outcome.error;
  const server = await adminAccess(cluster, deps);
  const client = apiClient(server, deps.deadline);
  try {
    const namespace = namespaceOf(cluster.namespacePrefix, user.name);
    const { token, expiry } = await requestToken(client, {
      ...{ namespace, account: sessionServiceAccount, lifetimeSeconds },
      boundTo: await ensureSecret(client, secretOf(cluster, user)),
    });
    const { url, ca, tlsServerName, insecureSkipTlsVerify } = server;
    writePodAccess({ run }, user, {
      ...{ cluster: cluster.name, namespace, expiry },
      server: {
        ...{ url, token },
        ...(ca === undefined ? {} : { ca }),
        ...(tlsServerName === undefined ? {} : { tlsServerName }),
        ...(insecureSkipTlsVerify === undefined ? {} : { insecureSkipTlsVerify }),
      },
    });
  } finally {
    client.close();
  }
}

function secretOf(cluster: SessionCluster, user: User): KubeObject {
  const namespace = namespaceOf(cluster.namespacePrefix, user.name);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: cluster.sshSessions.secret, namespace },
  };
}

async function ensureSecret(
  client: ApiClient,
  secret: KubeObject,
): Promise<{ readonly name: string; readonly uid: string }> {
  const answer = await client.send(applyRequest(secret));
  if (answer.status !== 200 && answer.status !== 201) throw applyError(secret, answer);
  const { uid } = answer.body.metadata as { readonly uid: string };
  return { name: secret.metadata.name, uid };
}

/** sshd waits meanwhile. Milliseconds. */
const patienceMs = 8_000;

async function sessionClusters(
  { settings, log }: PodSite,
  user: User,
): Promise<{
  readonly clusters: readonly SessionCluster[];
  readonly deps: AccessDeps & { readonly known: readonly string[] };
}> {
  const loaded = await loadSettings({});
  for (const { cluster, error } of loaded.broken) log.error(error, { cluster });
  const all: readonly ClusterSettings[] = loaded.settings.clusters;
  const clusters = new Map<string, SessionCluster>();
  for (const profile of podProfiles(settings)) {
    try {
      const cluster = podCluster(profile, all);
      clusters.set(cluster.name, cluster);
    } catch (thrown) {
      log.error(asBerthError(thrown, `profile ${profile.name}`));
    }
  }
  const deps = {
    ...{ stateDir: loaded.settings.stateDir, remember: true },
    ...{ deadline: deadlineIn(patienceMs).signal, clusterCount: all.length },
    known: readLoginRecord(loaded.settings.stateDir, user.name).clusters,
  };
  return { clusters: [...clusters.values()], deps };
}
