import { hostname } from 'node:os';
import type { Profile } from '../config/profile.ts';
import { collectionPath } from '../desired/kube-object.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { apiClient, type ApiClient } from '../reconcile/api-client.ts';
import { listAll } from '../reconcile/list-all.ts';
import { removePod } from '../reconcile/remove-pod.ts';
import { podLabels, podSelector } from '../session/pod-object.ts';
import type { PodStatus } from '../session/pod-state.ts';
import { deadlineIn } from '../system/deadline.ts';
import { takeLock } from '../system/owner-lock.ts';
import { ensureRootFolder } from '../system/root-folders.ts';
import { openConnections } from './end-over.ts';
import { grantPods, revokePods, type PodSite } from './grant-pods.ts';
import {
  heldPodAccesses,
  readPodsWaiting,
  writePodsWaiting,
  type PodAccess,
} from './pod-access.ts';
import { endingLock } from './session-site.ts';

export interface EndedPods {
  readonly removed: number;
  readonly failed: readonly BerthError[];
}

/** A cluster that does not answer must not keep sshd. Milliseconds. */
const patienceMs = 10_000;

/**
 * Removes the pods of a user's connections that are gone, and after the last connection those that wait
 * for no other. The user's way to the cluster ends with the last connection; for a pod that waits for its
 * grace to be over, root takes a way of its own then (`berth reap`).
 *
 * @throws {BerthError} `lock-timeout`, `folder-unsafe`
 */
export async function endPods(site: PodSite, user: User): Promise<EndedPods> {
  const waiting = readPodsWaiting(site, user.uid);
  if (waiting === undefined && heldPodAccesses(site, user.uid).length === 0)
    return { removed: 0, failed: [] };
  ensureRootFolder(`${site.run}/ending`);
  const lock = await takeLock(endingLock(site, user.uid), {
    ...{ waitMs: 20_000, foreignStaleMs: 60_000 },
  });
  try {
    if (heldPodAccesses(site, user.uid).length === 0) await grantPods(site, user);
    return await end(site, user, waiting);
  } finally {
    await lock?.release();
  }
}

async function end(site: PodSite, user: User, waiting: number | undefined): Promise<EndedPods> {
  const open = openConnections(site, user.uid);
  const idleSince = open.size > 0 ? undefined : (waiting ?? site.now());
  const failed: BerthError[] = [];
  let removed = 0;
  let left = 0;
  for (const access of heldPodAccesses(site, user.uid)) {
    const client = apiClient(access.server, deadlineIn(patienceMs).signal);
    try {
      for (const pod of await sessionPods(client, access)) {
        if (isOver(pod, site, open, idleSince)) {
          await removePod(client, { name: pod.name, namespace: access.namespace });
          removed += 1;
        } else left += 1;
      }
    } catch (thrown) {
      failed.push(asBerthError(thrown, `the pods of ${user.name} on ${access.cluster}`));
    } finally {
      client.close();
    }
  }
  // What is left, or could not be seen, is looked for again by the reaper.
  writePodsWaiting(site, user.uid, left > 0 || failed.length > 0 ? idleSince : undefined);
  if (open.size === 0)
    await revokePods(site, user).catch((thrown: unknown) => {
      failed.push(asBerthError(thrown, `ending the tokens of ${user.name}`));
    });
  return { removed, failed };
}

interface SessionPod {
  readonly name: string;
  readonly profile: string | undefined;
  /** Of a pod for one connection. */
  readonly connection: string | undefined;
  readonly ended: boolean;
}

async function sessionPods(client: ApiClient, access: PodAccess): Promise<SessionPod[]> {
  const items = await listAll(client, collectionPath('Pod', access.namespace), {
    attempted: `listing the pods of ${access.namespace}`,
    labelSelector: podSelector(hostname()),
  });
  return items.map(({ metadata: { name, labels = {} }, status }) => ({
    name,
    profile: labels[podLabels.profile],
    connection: labels[podLabels.connection],
    ended: ['Failed', 'Succeeded'].includes((status as PodStatus['status'])?.phase ?? ''),
  }));
}

function isOver(
  { profile, connection, ended }: SessionPod,
  { settings, now }: PodSite,
  open: ReadonlySet<string>,
  idleSince: number | undefined,
): boolean {
  if (connection !== undefined) return !open.has(connection);
  if (ended) return true;
  const lifetime: Profile['lifetime'] | undefined = settings.profiles.get(profile ?? '')?.lifetime;
  // Whose profile is no more has nothing to wait for.
  if (lifetime?.kind === 'duration') return false;
  const graceMs = lifetime?.kind === 'user' ? lifetime.graceMs : 0;
  return idleSince !== undefined && idleSince + graceMs <= now();
}
