import { setTimeout as sleep } from 'node:timers/promises';
import { collectionPath } from '../../../kube/objects/kube-object.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { podState, type PodState, type PodStatus } from './objects/pod-state.ts';
import type { PodObject } from './objects/pod-object.ts';
import { podAnnotations } from './objects/profile-pod.ts';
import { type ApiClient, withApiClient } from '../../../kube/api-client.ts';
import { apiError } from '../../../kube/api-errors.ts';
import { deletePod, type PodId } from '../../../kube/delete-object.ts';
import { watchObject } from '../../../kube/watch-object.ts';
import { deadlineIn } from '../../../system/deadline.ts';
import type { PodGrant } from './pod-grant-file.ts';
import { podChanged, podFailed, podRejected, podStartTimeout } from './pod-start-errors.ts';

export interface StartPodInput {
  readonly grant: PodGrant;
  readonly pod: PodObject;
  /** Time limit, in milliseconds. */
  readonly deadlineMs: number;
  /** Called when it changes what is being waited for, with a text for the user. */
  readonly onState: (text: string) => void;
}

/**
 * Creates the pod, or finds the one that another login created, and waits until sessions can run in it. A pod that has ended
 * is deleted first, and so is one that should have ended, because its node is dead or unreachable. A pod that does not
 * start is deleted, so that the next login creates a new one.
 *
 * @throws {BerthError} `pod-image…`, `pod-registry-unreachable`, `pod-configuration`, `pod-evicted`,
 *   `pod-time-limit`, `pod-ended`, `pod-unschedulable`, `pod-start-deadline`, `pod-quota`, `pod-refused`,
 *   `pod-changed`, `pod-namespace-gone`, and the `api-…` errors
 */
export async function startPod({ grant, pod, deadlineMs, onState }: StartPodInput): Promise<void> {
  const deadline = deadlineIn(deadlineMs);
  await withApiClient(grant.server, deadline.signal, async (client) => {
    for (;;) {
      const made = await create(client, pod, deadline.signal);
      const changed = made && changedKey(pod, made);
      if (changed !== undefined) {
        await deletePod(client, { ...pod.metadata, uid: made?.uid ?? '' });
        throw podChanged(changed, pod.metadata.namespace);
      }
      const { end, uid = made?.uid ?? '' } = await awaited(grant, pod, {
        signal: deadline.signal,
        onState,
        since: made?.resourceVersion,
      });
      if (end.kind === 'running') return;
      if (end.kind === 'waiting')
        throw await giveUp(grant, { ...pod.metadata, uid }, end, deadlineMs);
      // If it is overdue, its node does not respond.
      if (end.kind !== 'gone')
        await deletePod(client, { ...pod.metadata, uid }, { force: end.kind === 'ending' });
      // A pod of an earlier login may have ended long ago.
      if (made !== undefined && end.kind === 'failed')
        throw podFailed(end.code, end.detail, pod.metadata);
    }
  });
}

/** Extra time after the deadline for finding the reason. Milliseconds. */
const lastWordMs = 3_000;

async function giveUp(
  { server }: PodGrant,
  pod: PodId,
  end: Waiting,
  deadlineMs: number,
): Promise<BerthError> {
  return withApiClient(server, deadlineIn(lastWordMs).signal, async (client) => {
    const reason = end.detail ?? (await lastWarning(client, pod));
    await deletePod(client, pod).catch(() => undefined);
    return podStartTimeout(end, reason, deadlineMs);
  });
}

function collectionOf({ metadata }: PodObject): string {
  return collectionPath('Pod', metadata.namespace);
}

/**
 * Waits while a quota cannot be evaluated: the quota controller has not counted, or others change its count at the same
 * time.
 *
 * @returns the new pod's metadata; undefined if a pod with the name exists
 */
async function create(
  client: ApiClient,
  pod: PodObject,
  signal: AbortSignal,
): Promise<PodMetadata | undefined> {
  const answer = await client.send({
    method: 'POST',
    path: collectionOf(pod),
    contentType: 'application/json',
    body: JSON.stringify(pod),
  });
  if (answer.status === 201) return (answer.body as PodStatus).metadata;
  const said = typeof answer.body.message === 'string' ? answer.body.message : '';
  if (answer.status === 409 && answer.body.reason === 'AlreadyExists') return undefined;
  const isUncounted =
    (answer.status === 403 && said.includes('status unknown for quota')) ||
    (answer.status === 409 && said.includes('resourcequotas'));
  if (isUncounted && (await paused(signal))) return create(client, pod, signal);
  throw podRejected(answer.status, said) ?? apiError(`creating the pod of your session`, answer);
}

/** What Berth finds its pods by, and the account in them: admission webhooks of the site may write it. */
function changedKey({ metadata }: PodObject, made: PodMetadata): string | undefined {
  const label = Object.entries(metadata.labels).find(
    ([key, value]) => made.labels?.[key] !== value,
  );
  if (label !== undefined) return `label ${label[0]}`;
  const found = Object.values(podAnnotations).find(
    (key) => made.annotations?.[key] !== metadata.annotations[key],
  );
  return found === undefined ? undefined : `annotation ${found}`;
}

type PodMetadata = NonNullable<PodStatus['metadata']>;
type Waiting = Extract<PodState, { kind: 'waiting' }>;
type Ending = Extract<PodState, { kind: 'ending' }>;

/** A pod has one second to end. After this time its node does not respond. Milliseconds. */
const endingMs = 10_000;

/** Time left for its node to end it, in milliseconds. */
function leftFor({ due }: Ending): number {
  return Date.parse(due) + endingMs - Date.now();
}

/** Pause between two watches or attempts, in milliseconds. */
const pauseMs = 500;

/** @returns false after the deadline */
async function paused(signal: AbortSignal): Promise<boolean> {
  await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

interface Waiter extends Pick<StartPodInput, 'onState'> {
  readonly signal: AbortSignal;
  readonly since: string | undefined;
}

interface Seen {
  readonly end: PodState | { readonly kind: 'gone' };
  /** UID of the pod that was seen. */
  readonly uid: string | undefined;
}

/**
 * Waits until the pod runs, has failed, is gone or is overdue. After the deadline, the last state is returned.
 *
 * @param since `resourceVersion` of the pod, if this login has created it
 */
async function awaited(
  { server }: PodGrant,
  pod: PodObject,
  { signal, onState, since }: Waiter,
): Promise<Seen> {
  let end: Waiting = { kind: 'waiting', text: 'waiting for the scheduler' };
  let uid: string | undefined;
  let version = since;
  const late = (): boolean => signal.aborted;
  while (!late()) {
    const turn = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    try {
      for await (const { type, object } of watchObject(
        server,
        collectionOf(pod),
        pod.metadata.name,
        { signal: AbortSignal.any([signal, turn.signal]), since: version },
      )) {
        if (type === 'ERROR') break;
        const seen: PodStatus = object;
        const now = podState(seen);
        uid = seen.metadata?.uid;
        if (type === 'DELETED') return { end: { kind: 'gone' }, uid };
        if (now.kind === 'running' || now.kind === 'failed') return { end: now, uid };
        if (now.kind === 'ending') {
          if (leftFor(now) <= 0) return { end: now, uid };
          timer ??= setTimeout(() => turn.abort(), leftFor(now));
        }
        end = now.kind === 'ending' ? formerSession : now;
        onState(end.text);
      }
    } catch (error) {
      // A watch that is cut is started again, also when the API server sheds load. Other errors are reported.
      const stopped = late() || turn.signal.aborted;
      if (error instanceof BerthError && error.code !== 'api-overloaded' && !stopped) throw error;
    } finally {
      clearTimeout(timer);
    }
    version = undefined;
    await paused(signal);
  }
  return { end, uid };
}

const formerSession = { kind: 'waiting', text: 'waiting for an earlier session to end' } as const;

/** The last warning of kubelet or scheduler. A volume that cannot be mounted is reported nowhere else. */
async function lastWarning(
  client: ApiClient,
  { name, namespace }: PodId,
): Promise<string | undefined> {
  const fields = encodeURIComponent(`involvedObject.name=${name},type=Warning`);
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events?fieldSelector=${fields}`;
  const answer = await client.send({ method: 'GET', path }).catch(() => undefined);
  const items = (answer?.body.items ?? []) as readonly { readonly message?: string }[];
  return items.at(-1)?.message;
}
