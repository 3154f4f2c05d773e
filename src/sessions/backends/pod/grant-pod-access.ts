import { hostname } from 'node:os';
import { bootstrapUser } from '../../../clusters/access/bootstrap-user.ts';
import { hookAccess, type HookAccessDeps } from '../../../clusters/access/hook-access.ts';
import { readLoginRecord } from '../../../clusters/access/login-record.ts';
import { loadSiteSettings } from '../../../config/load/load-site-settings.ts';
import type { SshSettings } from '../../../config/schema/profile/profile.ts';
import type { SessionContext } from '../../connections/state-paths.ts';
import { asBerthError, type BerthError } from '../../../system/errors/berth-error.ts';
import type { User } from '../../../system/identity/nss.ts';
import { withApiClient } from '../../../kube/api-client.ts';
import { namespaceOf } from '../../../kube/objects/user-names.ts';
import { sessionServiceAccount } from '../../../kube/objects/well-known-names.ts';
import { requestToken, serverWithToken } from '../../../kube/request-token.ts';
import type { Logger } from '../../../log.ts';
import { withSessionProfiles } from '../../../config/load/session-profiles.ts';
import { deadlineIn } from '../../../system/deadline.ts';
import { podCluster, podProfiles } from './pod-cluster.ts';
import {
  expirePodGrant,
  type PodGrant,
  podGrantClusters,
  readPodGrant,
  removePodGrant,
  writePodGrant,
} from './pod-grant-file.ts';
import { handOverError, handOverGrant, isGrantUnchanged } from './pod-handover.ts';
import { type ClaimPlace, untilNotClosing } from './presence/node-claims.ts';
import { releaseSecret, retainSecret } from './presence/session-secret.ts';

export interface PodGrantContext extends Pick<SessionContext, 'run' | 'session'> {
  readonly settings: Pick<SshSettings, 'profiles' | 'rules'>;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Lifetime of a token; the API server's minimum is ten minutes. A running session outlives its token. */
const lifetimeSeconds = 3600;

/**
 * Prepares what a user's sessions in pods need on each cluster: everything that the portal's hook creates, and a token of
 * the user's ServiceAccount for sessions. A token with more than half of its lifetime left is kept.
 *
 * A cluster that fails affects only its own sessions; the login then tells the user why.
 *
 * @param to `login` also hands the token over to the user's logins; `root` touches nothing of the user's
 * @returns the errors
 */
export async function grantPodAccess(
  site: PodGrantContext,
  user: User,
  to: 'login' | 'root',
): Promise<readonly BerthError[]> {
  const { clusters, deps, failed } = await sessionClusters(site, user);
  const stored = await Promise.all(
    clusters.map((cluster) => attempt(cluster, () => storedGrant(site, user, cluster, deps))),
  );
  // Credentials are process-wide: while the process runs as the user for one cluster, no work of root's may be in
  // progress for another.
  const wanted: SessionCluster[] = [];
  for (const [at, cluster] of clusters.entries()) {
    const { grant, error } = stored[at] ?? {};
    if (error === undefined && !(await isThere(site, user, grant, to))) wanted.push(cluster);
  }
  const granted = await Promise.all(
    wanted.map((cluster) => attempt(cluster, () => newGrant(site, user, cluster, { deps, to }))),
  );
  const outcomes = [...failed, ...stored.filter(({ error }) => error !== undefined), ...granted];
  const errors: BerthError[] = [];
  for (const outcome of outcomes) {
    const error = to === 'login' ? await tell(site, user, outcome) : outcome.error;
    if (error !== undefined) errors.push(error);
  }
  return errors;
}

/** For one cluster: the grant to hand over, or the error. */
interface Outcome {
  readonly cluster: string;
  readonly grant?: PodGrant | undefined;
  readonly error?: BerthError;
}

async function attempt(
  { name }: SessionCluster,
  work: () => Promise<PodGrant | undefined>,
): Promise<Outcome> {
  try {
    return { cluster: name, grant: await work() };
  } catch (thrown) {
    return { cluster: name, error: fault(name, thrown) };
  }
}

function fault(cluster: string, thrown: unknown): BerthError {
  return asBerthError(thrown, `pods on cluster ${cluster}`);
}

async function isThere(
  site: PodGrantContext,
  user: User,
  grant: PodGrant | undefined,
  to: 'login' | 'root',
): Promise<boolean> {
  return grant !== undefined && (to === 'root' || (await isGrantUnchanged(site, user, grant)));
}

/** Hands over the grant or the error. @returns the error, if any */
async function tell(
  site: PodGrantContext,
  user: User,
  { cluster, grant, error }: Outcome,
): Promise<BerthError | undefined> {
  let wrong = error;
  try {
    if (grant !== undefined) await handOverGrant(site, user, grant);
  } catch (thrown) {
    wrong = fault(cluster, thrown);
  }
  // If nothing can be handed over, neither can the error; it is returned.
  if (wrong !== undefined) await handOverError(site, user, cluster, wrong).catch(() => undefined);
  return wrong;
}

/** Root's stored grant, if it is valid long enough and for the API server that root itself uses now. */
async function storedGrant(
  { run, now }: PodGrantContext,
  user: User,
  cluster: SessionCluster,
  deps: HookAccessDeps,
): Promise<PodGrant | undefined> {
  const held = readPodGrant({ run }, user.uid, cluster.name);
  if (held === undefined || held.expiry - now() / 1000 <= lifetimeSeconds / 2) return undefined;
  if (held.namespace !== namespaceOf(cluster.namespacePrefix, user.name)) return undefined;
  // For Cluster API, comparing would need a request.
  if (cluster.admin.kind !== 'kubeconfig') return held;
  const { url, ca } = await hookAccess(cluster, deps);
  return held.server.url === url && held.server.ca === ca ? held : undefined;
}

/** How long a login waits for a cleanup on another node. Milliseconds. */
const closingPatienceMs = 5_000;

/**
 * Revokes what `grantPodAccess` granted. Deleting the Secret invalidates all tokens, wherever they are. If the user is connected
 * to another login node too, the Secret is deleted with the last connection there.
 *
 * @param closed when the user's last connection closed, if it closed now; milliseconds since the epoch
 * @returns the number of clusters
 * @throws {BerthError} the `api-…` errors; the Secret may then still exist
 */
export async function revokePodAccess(
  site: PodGrantContext,
  user: User,
  closed: number | undefined,
): Promise<number> {
  const { run, now } = site;
  const names = podGrantClusters({ run }, user.uid);
  if (names.length === 0) return 0;
  const { clusters, deps } = await sessionClusters(site, user);
  const held = clusters.filter(({ name }) => names.includes(name));
  for (const cluster of held) {
    const server = await hookAccess(cluster, deps);
    // A login after a release that failed must write the claim again.
    expirePodGrant({ run }, user.uid, cluster.name);
    await withApiClient(server, deps.deadline, (client) =>
      releaseSecret(client, claimPlace(cluster, user), { now: now(), closed }),
    );
    removePodGrant({ run }, user.uid, cluster.name);
  }
  return held.length;
}

async function newGrant(
  { run, log, now }: PodGrantContext,
  user: User,
  cluster: SessionCluster,
  { deps, to }: { readonly deps: SessionClusters['deps']; readonly to: 'login' | 'root' },
): Promise<PodGrant> {
  const { error } = await bootstrapUser(cluster, {
    user,
    now: now() / 1000,
    known: deps.known,
    access: deps,
    log,
    deadline: deadlineIn(clusterPatienceMs),
  }).outcome;
  if (error !== undefined) throw error;
  const server = await hookAccess(cluster, deps);
  return withApiClient(server, deps.deadline, async (client) => {
    const secret = claimPlace(cluster, user);
    const { namespace } = secret;
    const { boundTo, claims } = await retainSecret(client, secret, now());
    if (to === 'login')
      await untilNotClosing(client, secret, claims, { timeoutMs: closingPatienceMs, now });
    const { token, expiry } = await requestToken(client, {
      namespace,
      account: sessionServiceAccount,
      lifetimeSeconds,
      boundTo,
    });
    const granted = serverWithToken(server, token);
    const grant: PodGrant = { cluster: cluster.name, namespace, expiry, server: granted };
    writePodGrant({ run }, user.uid, grant);
    return grant;
  });
}

/** A cluster on which sessions run in pods. */
type SessionCluster = ReturnType<typeof podCluster>;

interface SessionClusters {
  readonly clusters: readonly SessionCluster[];
  readonly deps: HookAccessDeps & { readonly known: readonly string[] };
  readonly failed: readonly { readonly cluster: string; readonly error: BerthError }[];
}

/** Where this node writes its claim on the user's pods and tokens. */
export function claimPlace(cluster: SessionCluster, user: User): ClaimPlace {
  const namespace = namespaceOf(cluster.namespacePrefix, user.name);
  return { namespace, name: cluster.sshSessions.secret, loginHost: hostname() };
}

/** Time limit for the requests to a cluster; sshd waits meanwhile. Milliseconds. */
const clusterPatienceMs = 8_000;

/** The clusters of the profiles' pods, and what root needs for requests to them. */
export async function sessionClusters(
  { settings, session }: Pick<PodGrantContext, 'settings' | 'session'>,
  user: User,
): Promise<SessionClusters> {
  const loaded = await loadSiteSettings({});
  const { profiles: used } = withSessionProfiles(settings);
  const failed: { readonly cluster: string; readonly error: BerthError }[] = [];
  const clusters = new Map<string, SessionCluster>();
  for (const profile of podProfiles(settings)) {
    try {
      const cluster = podCluster(profile, loaded);
      clusters.set(cluster.name, cluster);
    } catch (thrown) {
      // Clusters of others may have what a removed rule has left.
      if (!used.has(profile.name)) continue;
      const { cluster = '' } = profile.pod;
      failed.push({ cluster, error: asBerthError(thrown, profile.name) });
    }
  }
  const deps = {
    stateDir: loaded.settings.stateDir,
    remember: true,
    session,
    deadline: deadlineIn(clusterPatienceMs).signal,
    clusterCount: loaded.settings.clusters.length,
    known: readLoginRecord(loaded.settings.stateDir, user.name).clusters,
  };
  return { clusters: [...clusters.values()], deps, failed };
}
