import { keepsProcesses } from '../../../request/keeps-processes.ts';
import { hostname } from 'node:os';
import type { Lifetime, Profile } from '../../../../config/schema/profile/profile.ts';
import { collectionPath } from '../../../../kube/objects/kube-object.ts';
import { asBerthError, BerthError } from '../../../../system/errors/berth-error.ts';
import type { ApiClient } from '../../../../kube/api-client.ts';
import { reduceListPages } from '../../../../kube/list-all.ts';
import { waitForPodDeletion, deletePod, type PodId } from '../../../../kube/delete-object.ts';
import { podLabels, podSelector } from '../objects/pod-object.ts';
import { hostLabel } from '../../../../system/program/session-id.ts';
import { readPod } from '../read-pod.ts';
import type { PodGrant } from '../pod-grant-file.ts';
import { killLeftovers } from '../kill-leftovers.ts';
import type { SharedUse } from './user-claims.ts';

/** When the pod of a profile ends. */
type Limits = Pick<Profile, 'lifetime' | 'timeouts'>;

/** A pod of a user's sessions, as far as its expiry depends on it. */
export interface SessionPod extends Limits {
  readonly name: string;
  readonly uid: string;
  /** Set for a pod that serves one connection. */
  readonly connection: string | undefined;
  /** `hostLabel` of the login node whose connections use it; undefined if those to all nodes do. */
  readonly loginHost: string | undefined;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

/** For a pod whose profile was removed from the configuration. */
const noLimits: Limits = {
  lifetime: { kind: 'user', graceMs: 0, linger: false },
  timeouts: {},
};

/** Limit per run. Users can set these labels too; a ResourceQuota is the better limit. */
const mostPods = 200;
/** Entries of a list that are read. */
const mostSeen = 10_000;

export interface SessionPods {
  readonly pods: SessionPod[];
  /** How many there are on the cluster, up to `mostSeen`. */
  count: number;
  /** Entries of the list that were read, with the pods of other login nodes. */
  read: number;
}

/**
 * The user's session pods that this login node or all of them use, and those of single connections to other nodes, which
 * may have failed. Leaves out pods that are terminating, which a
 * finalizer may hold forever. If there are too many, picks some at random, so that a user's other pods cannot
 * keep one from being checked forever.
 *
 * @param random Returns at least 0 and less than 1.
 * @throws {BerthError} the `api-…` errors
 */
export async function listSessionPods(
  client: ApiClient,
  { namespace }: PodGrant,
  profiles: ReadonlyMap<string, Profile>,
  random: () => number = Math.random,
): Promise<SessionPods> {
  return await reduceListPages(client, collectionPath('Pod', namespace), {
    attempted: `listing the pods of ${namespace}`,
    metadataOnly: true,
    labelSelector: podSelector,
    begin: (): SessionPods => ({ pods: [], count: 0, read: 0 }),
    enough: ({ read }) => read >= mostSeen,
    add: (seen, { metadata }) => {
      seen.read += 1;
      const { name, uid = '', labels = {}, creationTimestamp = '' } = metadata;
      const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
      if (deletionTimestamp !== undefined && deletionGracePeriodSeconds <= 1) return;
      const loginHost = labels[podLabels.loginHost];
      const connection = labels[podLabels.connection];
      seen.count += 1;
      const place =
        seen.pods.length < mostPods ? seen.pods.length : Math.trunc(random() * seen.count);
      if (place >= mostPods) return;
      const { lifetime, timeouts } = profiles.get(labels[podLabels.profile] ?? '') ?? noLimits;
      seen.pods[place] = {
        name,
        uid,
        loginHost,
        connection,
        lifetime,
        timeouts,
        created: Date.parse(creationTimestamp) || 0,
      };
    },
  });
}

export interface PodExpiryContext {
  readonly grant: PodGrant;
  readonly client: ApiClient;
  readonly signal: AbortSignal;
  /** IDs of open connections at the beginning. */
  readonly open: ReadonlySet<string>;
  /** See `LeftoversInput.open`. */
  readonly openNow: (marks: ReadonlySet<string>) => Promise<ReadonlySet<string>>;
  /** Since when the user has no connection; undefined while there is one. Milliseconds since the epoch. */
  readonly since: number | undefined;
  /** The same for the pods that all nodes share. */
  readonly shared: SharedUse;
  /** Whether the pods that all nodes share may be deleted now. */
  readonly mayDeleteShared: () => Promise<boolean>;
  readonly now: number;
  /** IDs of the sessions whose cleanup has begun. */
  readonly closed: readonly string[];
}

export interface PodExpiryResult {
  readonly removed?: boolean;
  /** When to check it again. Milliseconds since the epoch. */
  readonly due?: number;
  /** Its grace period has ended, but processes are still running in it. */
  readonly busy?: boolean;
  readonly failed?: BerthError;
}

/** Removes a pod that has expired. In a pod that stays, ends the processes of closed connections. */
export async function expirePod(
  pod: SessionPod,
  circumstances: PodExpiryContext,
): Promise<PodExpiryResult> {
  const { grant, client, signal, open, openNow, shared, now, closed } = circumstances;
  const { name, uid, lifetime, connection, loginHost } = pod;
  if (isElsewhere(pod, shared)) return {};
  const forAllNodes = loginHost === undefined;
  const { since, until = Infinity } = forAllNodes ? shared : { since: circumstances.since };
  const id = { name, uid, namespace: grant.namespace };
  const again = now + againMs;
  const isLast = async (): Promise<boolean> =>
    !forAllNodes || hardEnd(pod) <= now || (await circumstances.mayDeleteShared());
  const remove = async (): Promise<PodExpiryResult> => {
    await deletePod(client, id);
    // The next login would reuse the name of a shared pod; a pod for one connection has a name of its own.
    if (connection === undefined) await waitForPodDeletion(client, id, endMs);
    return { removed: true };
  };
  try {
    const phase = connection === undefined ? (await readPod(client, id))?.status?.phase : undefined;
    const running = phase === 'Running';
    const ended = phase === 'Failed' || phase === 'Succeeded';
    const due = Math.min(endOf({ ...pod, ended }, open, since), until);
    const joined = running && connection === undefined;
    const lingers = keepsProcesses(lifetime);
    const asked = due <= now && joined && lingers && limitEnd(pod, since) > now;
    if (due <= now && !asked) return ended || (await isLast()) ? await remove() : { due: again };
    if (!joined || (closed.length === 0 && !asked)) return { due };
    const alone = since !== undefined && !lingers;
    const sweep = { open: openNow, ...(lingers && { hangUp: closed }) };
    const swept = await killLeftovers(grant, name, sweep, signal).catch(async (thrown: unknown) => {
      if (!(thrown instanceof BerthError) || thrown.code !== 'pod-cleanup-failed') throw thrown;
      // Another node deletes it meanwhile, and with it the shell of this one there.
      if (await isGoing(client, id)) return 'gone';
      // The home may be unavailable, for example: then the next session could not start in the pod either.
      if (alone) return undefined;
      throw thrown;
    });
    if (swept === 'gone') return {};
    if (swept !== undefined) {
      if (!asked) return { due };
      if (swept.busy > 0) return { busy: true, due: now + graceOf(lifetime) };
    }
    return (await isLast()) ? await remove() : { due: again };
  } catch (thrown) {
    return { failed: asBerthError(thrown, `pod ${grant.namespace}/${name}`) };
  }
}

/** Whether a pod is being deleted, or is gone already. */
async function isGoing(client: ApiClient, { name, namespace, uid }: PodId): Promise<boolean> {
  const { metadata } = (await readPod(client, { name, namespace })) ?? {};
  return metadata?.uid !== uid || metadata.deletionTimestamp !== undefined;
}

/** Whether a pod is the business of another login node, which has not failed. */
function isElsewhere({ loginHost }: SessionPod, { nodes }: SharedUse): boolean {
  if (loginHost === undefined || loginHost === hostLabel(hostname())) return false;
  return nodes === undefined || nodes.has(loginHost);
}

/** After this, a pod is checked again that a connection to another node joined at the last moment. Milliseconds. */
const againMs = 60_000;

/** How long to wait until a removed pod is gone; usually it takes a second. Milliseconds. */
const endMs = 5_000;

/** Added to the time limit: the cluster ends the pod by itself at that time, counted from its start. Milliseconds. */
const startMs = 60_000;

/** When the pod expires. Milliseconds since the epoch. */
function endOf(
  { ended, ...pod }: SessionPod & { readonly ended: boolean },
  open: ReadonlySet<string>,
  since: number | undefined,
): number {
  if (pod.connection !== undefined) return open.has(pod.connection) ? Infinity : 0;
  if (ended) return 0;
  const idleEnd = since === undefined ? Infinity : since + graceOf(pod.lifetime);
  return Math.min(idleEnd, limitEnd(pod, since));
}

function graceOf(lifetime: Lifetime): number {
  return lifetime.kind === 'user' ? lifetime.graceMs : 0;
}

/** When a time limit of its profile ends it. Milliseconds since the epoch. */
function limitEnd(pod: SessionPod, since: number | undefined): number {
  const { softMs = Infinity } = pod.timeouts;
  const softEnd = since === undefined ? Infinity : Math.max(since, pod.created + softMs);
  return Math.min(softEnd, hardEnd(pod));
}

function hardEnd({ created, timeouts: { hardMs = Infinity } }: SessionPod): number {
  return created + hardMs + startMs;
}
