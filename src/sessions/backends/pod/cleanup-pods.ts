import { hostname } from 'node:os';
import { asBerthError, BerthError } from '../../../system/errors/berth-error.ts';
import type { User } from '../../../system/identity/nss.ts';
import { withApiClient } from '../../../kube/api-client.ts';
import { deadlineIn } from '../../../system/deadline.ts';
import { expirePod, listSessionPods, type PodExpiryResult } from './presence/expire-pod.ts';
import type { RemovalResult } from '../backend.ts';
import { withCleanupLock, withUserLock } from '../../connections/user-lock.ts';
import { grantPodAccess, revokePodAccess, type PodGrantContext } from './grant-pod-access.ts';
import {
  storedPodGrants,
  hasPodGrants,
  readPodGrant,
  readRemainingPods,
  removePodGrant,
  writeRemainingPods,
  type PodGrant,
} from './pod-grant-file.ts';
import { hostLabel, sessionId } from '../../../system/program/session-id.ts';
import { claimsToRenew, renewClaims, UserClaims } from './presence/user-claims.ts';
import { cleanupLockPath } from '../../connections/state-paths.ts';
import { mapConcurrent } from '../../../system/map-concurrent.ts';
import {
  closingConnections,
  hasConnections,
  openConnections,
} from '../../connections/open-connections.ts';

/** Limit for listing pods: an unreachable cluster must not hold up sshd. Milliseconds. */
const timeoutMs = 10_000;
/** Limit for all work in the pods: on a busy node, listing the processes of a pod takes seconds. Milliseconds. */
const sweepMs = 25_000;
/** Each exec into a pod is a stream of its own and uses root's memory on the login node. */
const atOnce = 8;

/**
 * Removes the pods of a user's closed connections and, after the last connection, the pods without a grace
 * period. In pods that stay, ends the processes of closed connections. The user's token for the cluster is
 * revoked with the last connection; for a pod in its grace period, root gets its own token later (`berth reap`).
 *
 * @param held Whether a token existed when the cleanup of a connection began: the cleanup of another connection
 *   may have revoked it since. Undefined if called by the reaper.
 * @throws {BerthError} `lock-timeout`, `directory-unsafe`
 */
export async function cleanUpPods(
  site: PodGrantContext,
  user: User,
  held?: boolean,
): Promise<RemovalResult> {
  if (!isDue(site, user, held)) return { removed: 0, failed: await renew(site, user) };
  return await withCleanupLock(site, user.uid, 'pods', async () => {
    // A connection that closes now ends the user's idle time, whatever was recorded before.
    const since = held === undefined ? readRemainingPods(site, user.uid)?.since : undefined;
    return await end(site, user, { since, failed: await grantPodAccess(site, user, 'root') });
  });
}

/** Called each minute for each user, so the cheap checks come first. */
function isDue(site: PodGrantContext, { uid }: User, held: boolean | undefined): boolean {
  const waiting = readRemainingPods(site, uid);
  if (held !== undefined) return held || waiting !== undefined;
  if (openConnections(site, uid).size > 0) return false;
  return hasPodGrants(site, uid) || (waiting !== undefined && waiting.due <= site.now());
}

interface Closing {
  /** When the user's last connection closed, if that was earlier. Milliseconds since the epoch. */
  readonly since: number | undefined;
  /** One error for each cluster for which no token was issued. */
  readonly failed: readonly BerthError[];
}

async function end(site: PodGrantContext, user: User, closing: Closing): Promise<RemovalResult> {
  const open = openConnections(site, user.uid);
  const closed = closingConnections(site, user.uid);
  const now = site.now();
  const since = open.size > 0 ? undefined : (closing.since ?? now);
  const failed = [...closing.failed];
  const fatesOn = async (grant: PodGrant): Promise<PodExpiryResult[]> => {
    const { pods, count } = await withApiClient(
      grant.server,
      deadlineIn(timeoutMs).signal,
      (client) => listSessionPods(client, grant, site.settings.profiles),
    );
    const rest = count > pods.length ? [{ failed: tooMany(grant, pods.length, count) }] : [];
    const here = hostLabel(hostname());
    const concernsOthers = pods.some(({ loginHost }) => loginHost !== here);
    const { signal } = deadlineIn(sweepMs);
    const fates = await withApiClient(grant.server, signal, async (client) => {
      const claims = concernsOthers
        ? await UserClaims.open(site, user, grant.cluster, signal)
        : undefined;
      try {
        const shared =
          claims === undefined || since === undefined
            ? { since, until: undefined, nodes: undefined }
            : await claims.announceClosing(since);
        const circumstances = {
          grant,
          client,
          signal,
          open,
          since,
          shared,
          now,
          closed: closed.map((id) => sessionId(id, hostname())),
          openNow: openMarks(site, user, claims),
          mayDeleteShared: async () => (await claims?.isClosingStill()) ?? true,
        };
        return await mapConcurrent(pods, atOnce, (pod) => expirePod(pod, circumstances));
      } finally {
        claims?.close();
      }
    });
    return [...fates, ...rest];
  };
  const fates = await Promise.all(
    storedPodGrants(site, user.uid).map(async (grant): Promise<PodExpiryResult[]> => {
      try {
        return await fatesOn(grant).catch(async (thrown: unknown) => {
          // Deleting the Secret that the token is bound to invalidates it. A user must not keep pods that way.
          const renewed =
            thrown instanceof BerthError && thrown.code === 'api-unauthorized'
              ? await renewGrant(site, user, grant)
              : undefined;
          if (renewed === undefined) throw thrown;
          return await fatesOn(renewed);
        });
      } catch (thrown) {
        return [{ failed: asBerthError(thrown, `the pods of ${user.name} on ${grant.cluster}`) }];
      }
    }),
  );
  let removed = 0;
  let due = Infinity;
  let busy = false;
  for (const fate of fates.flat()) {
    if (fate.removed === true) removed += 1;
    if (fate.busy === true) busy = true;
    if (fate.failed !== undefined) failed.push(fate.failed);
    due = Math.min(due, fate.due ?? Infinity);
  }
  // The reaper looks again for pods that are left or could not be listed.
  if (failed.length > 0) due = now;
  const again = since !== undefined && due < Infinity;
  // If processes were still running, the grace period starts again now.
  const waiting = again ? { since: busy ? now : since, due } : undefined;
  writeRemainingPods(site, user.uid, waiting);
  // Pods of a connection that was open at the beginning have not been removed yet, and that needs the token. A
  // connection that opened meanwhile waits for this lock and then gets a token of its own.
  if (open.size === 0 && !hasConnections(site, user.uid))
    await revokePodAccess(site, user, closing.since === undefined ? now : undefined).catch(
      (thrown: unknown) => {
        failed.push(asBerthError(thrown, `revoking the tokens of ${user.name}`));
      },
    );
  return { removed, failed };
}

/**
 * Which marks of processes in a pod belong to open connections. Of another node it is only known whether it has connections
 * of the user: that node ends what its closed ones leave.
 */
function openMarks(
  site: PodGrantContext,
  { uid }: User,
  claims: UserClaims | undefined,
): (marks: ReadonlySet<string>) => Promise<ReadonlySet<string>> {
  const here = hostLabel(hostname());
  return async (marks) => {
    const hosts = new Set([...marks].flatMap((mark) => mark.split('@')[1] ?? []));
    hosts.delete(here);
    const claiming = hosts.size === 0 ? hosts : await claims?.claiming(hosts);
    const open = openConnections(site, uid);
    return new Set(
      [...marks].filter((mark) => {
        const [id = '', host = here] = mark.split('@');
        return host === here ? open.has(id) : claiming?.has(host) === true;
      }),
    );
  };
}

/** Renews this node's claims while there are connections. @returns the errors */
async function renew(site: PodGrantContext, user: User): Promise<readonly BerthError[]> {
  const names = claimsToRenew(site, user);
  if (names.length === 0) return [];
  try {
    // The last connection must not close meanwhile. If it is closing, nothing is to be renewed.
    return await withUserLock(site, cleanupLockPath(site, user.uid), 0, () =>
      hasConnections(site, user.uid) ? renewClaims(site, user, names) : Promise.resolve([]),
    );
  } catch (thrown) {
    const error = asBerthError(thrown, `renewing the claims of ${user.name}`);
    return error.code === 'lock-timeout' ? [] : [error];
  }
}

function tooMany({ namespace, cluster }: PodGrant, looked: number, count: number): BerthError {
  return new BerthError(
    'reap-too-many-pods',
    `cleanup of namespace ${namespace} on cluster ${cluster} stopped at its limit: ${looked} of ${count} session pods checked, ${count - looked} left for the next run`,
    {
      hint: `List them: \`kubectl get pods -n ${namespace} -l app.kubernetes.io/managed-by=berth\`. Limit pods with a ResourceQuota.`,
    },
  );
}

async function renewGrant(
  site: PodGrantContext,
  user: User,
  { cluster }: PodGrant,
): Promise<PodGrant | undefined> {
  removePodGrant(site, user.uid, cluster);
  await grantPodAccess(site, user, 'root');
  return readPodGrant(site, user.uid, cluster);
}
