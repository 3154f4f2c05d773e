import { BerthError } from '../../errors.ts';
import { objectPath } from '../../desired/kube-object.ts';
import { apiClient } from '../../reconcile/api-client.ts';
import { podState, type PodStatus } from './objects/pod-state.ts';
import { deadlineIn } from '../../system/deadline.ts';
import type { PodAccess } from './pod-grant-file.ts';

type PodMetadata = NonNullable<PodStatus['metadata']>;

/** The user waits for the prompt of the own machine. Milliseconds. */
const patienceMs = 3_000;

/**
 * Why a session broke off, or is silent, as far as its pod tells: an exec stream only ends, or does not.
 *
 * @param isAnother Whether what has the name now is the next pod: another login was faster.
 * @returns Nothing where the pod is as it should be, or cannot be asked for.
 */
export async function lostPod(
  { server, namespace }: PodAccess,
  name: string,
  isAnother: (metadata: PodMetadata) => boolean,
): Promise<BerthError | undefined> {
  const client = apiClient(server, deadlineIn(patienceMs).signal);
  try {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } } as const;
    const { status, body } = await client.send({ method: 'GET', path: objectPath(pod) });
    const what = status === 404 ? 'deleted' : status === 200 ? fateOf(body, isAnother) : undefined;
    if (what === undefined) return undefined;
    const place = `${namespace}/${name}`;
    return new BerthError(`the pod of your session was ${what} while it ran (${place})`, {
      code: 'pod-lost',
      exit: 'temporary',
      hint: 'How the command ended is not known. Log in again: it starts anew.',
      forUser: true,
    });
  } catch {
    // What broke the session is told instead.
    return undefined;
  } finally {
    client.close();
  }
}

function fateOf(pod: PodStatus, isAnother: (metadata: PodMetadata) => boolean): string | undefined {
  const state = podState(pod);
  if (state.kind === 'ending') return 'deleted';
  if (state.kind === 'failed') return `ended (${state.detail})`;
  return isAnother(pod.metadata ?? {}) ? 'deleted' : undefined;
}
