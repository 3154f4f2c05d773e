import { collectionPath } from '../desired/kube-object.ts';
import { BerthError } from '../errors.ts';
import type { PodFault, PodState } from '../session/pod-state.ts';
import { podState } from '../session/pod-state.ts';
import type { PodObject } from '../session/pod-object.ts';
import { apiClient, type ApiClient } from '../reconcile/api-client.ts';
import { apiError } from '../reconcile/api-errors.ts';
import { removePod } from '../reconcile/remove-pod.ts';
import { watchObject } from '../reconcile/watch-object.ts';
import { deadlineIn } from '../system/deadline.ts';
import type { PodAccess } from './pod-access.ts';

export interface StartPodInput {
  readonly access: PodAccess;
  readonly pod: PodObject;
  /** The longest that it may take, in milliseconds. */
  readonly deadlineMs: number;
  /** Told of each change of what is waited for, in the user's words. */
  readonly onState: (text: string) => void;
}

/**
 * Makes the pod, or finds the one that another login made, and waits until sessions can run in it. One
 * that has ended is removed first; one that will not start is removed, so that the next login begins
 * anew.
 *
 * @throws {BerthError} `pod-image`, `pod-configuration`, `pod-evicted`, `pod-over-time`, `pod-ended`,
 *   `pod-unschedulable`, `pod-start-deadline`, `pod-quota`, `pod-refused`, and the `api-…` errors
 */
export async function startPod({ access, pod, deadlineMs, onState }: StartPodInput): Promise<void> {
  const deadline = deadlineIn(deadlineMs);
  const client = apiClient(access.server, deadline.signal);
  try {
    for (;;) {
      const made = await create(client, pod);
      const end = await awaited(access, pod, deadline.signal, onState);
      if (end.kind === 'running') return;
      if (end.kind === 'failed') {
        await remove(client, pod);
        // What another login left there may have ended long ago.
        if (made) throw fault(end.code, end.detail);
      } else if (end.kind === 'waiting') {
        const reason = end.detail ?? (await lastWarning(client, pod));
        await remove(client, pod).catch(() => undefined);
        throw tooLate(end, reason, deadlineMs);
      }
    }
  } finally {
    client.close();
  }
}

function collectionOf({ metadata }: PodObject): string {
  return collectionPath('Pod', metadata.namespace);
}

/** @returns False where one of that name is there. */
async function create(client: ApiClient, pod: PodObject): Promise<boolean> {
  const answer = await client.send({
    ...{ method: 'POST', path: collectionOf(pod), contentType: 'application/json' },
    body: JSON.stringify(pod),
  });
  if (answer.status === 201) return true;
  const said = typeof answer.body.message === 'string' ? answer.body.message : '';
  if (answer.status === 409 && answer.body.reason === 'AlreadyExists') return false;
  if (answer.status === 403 && said.includes('exceeded quota'))
    throw new BerthError(`there is no room for your session in your quota: ${plain(said)}`, {
      code: 'pod-quota',
      exit: 'temporary',
      hint: 'End another session or job of yours, or ask the admins of the cluster for more.',
    });
  if ((answer.status === 403 || answer.status === 422) && /admission|denied|policy/i.test(said))
    throw new BerthError(`the cluster refuses your session: ${plain(said)}`, {
      code: 'pod-refused',
      exit: 'permission',
      hint: 'Compare the profile with the policies of the cluster (etc/kubernetes/admission).',
    });
  throw apiError(`making your session's pod`, answer);
}

/** Until it runs, has failed or is gone; what was last waited for, where the time is over. */
async function awaited(
  { server }: PodAccess,
  pod: PodObject,
  signal: AbortSignal,
  onState: (text: string) => void,
): Promise<PodState> {
  let state: PodState = { kind: 'waiting', text: 'asking for a place on the cluster' };
  try {
    for (;;) {
      for await (const { type, object } of watchObject(
        server,
        collectionOf(pod),
        pod.metadata.name,
        signal,
      )) {
        if (type === 'ERROR') break;
        if (type === 'DELETED') return { kind: 'ending' };
        state = podState(object);
        if (state.kind === 'running' || state.kind === 'failed') return state;
        onState(state.kind === 'ending' ? 'waiting for the end of a former session' : state.text);
      }
    }
  } catch (error) {
    if (signal.aborted) return state;
    throw error;
  }
}

function remove(client: ApiClient, { metadata }: PodObject): Promise<void> {
  return removePod(client, metadata, '?gracePeriodSeconds=0');
}

/** Of the kubelet and the scheduler: a volume that cannot be mounted is told nowhere else. */
async function lastWarning(client: ApiClient, pod: PodObject): Promise<string | undefined> {
  const { name, namespace } = pod.metadata;
  const fields = encodeURIComponent(`involvedObject.name=${name},type=Warning`);
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events?fieldSelector=${fields}`;
  const answer = await client.send({ method: 'GET', path }).catch(() => undefined);
  const items = (answer?.body.items ?? []) as readonly { readonly message?: string }[];
  return items.at(-1)?.message;
}

const words: Readonly<Record<PodFault, readonly [message: string, hint: string]>> = {
  'pod-image': [
    'the image of your session cannot be had',
    'See whether the registry has it, and whether the pull secret of the namespace is good.',
  ],
  'pod-configuration': [
    'your session cannot be started on its node',
    'See `kubectl describe pod`; the image may lack what the profile wants.',
  ],
  'pod-evicted': [
    'the node of your session had to let it go',
    'Log in again: it starts on another.',
  ],
  'pod-over-time': ['the time of your session is over', 'Log in again for a new one.'],
  'pod-ended': ['your session ended as soon as it was started', 'See `kubectl describe pod`.'],
};

function fault(code: PodFault, detail: string): BerthError {
  const [message, hint] = words[code];
  return new BerthError(`${message}: ${plain(detail)}`, { code, exit: 'unavailable', hint });
}

function tooLate(
  { text }: { readonly text: string },
  reason: string | undefined,
  deadlineMs: number,
): BerthError {
  const unschedulable = text.includes('place on the cluster');
  return new BerthError(
    `your session did not start within ${deadlineMs / 1000} s (${text})${reason === undefined ? '' : `: ${plain(reason)}`}`,
    {
      code: unschedulable ? 'pod-unschedulable' : 'pod-start-deadline',
      exit: 'temporary',
      hint: unschedulable
        ? 'The cluster is full, or no node fits node_selector, tolerations and resources of the profile.'
        : '`deadline` in the profile bounds it; see the events of the pod.',
    },
  );
}

/** A server's words, on one line. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ').slice(0, 500);
}
