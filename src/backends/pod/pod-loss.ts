import { BerthError } from '../../errors/berth-error.ts';
import { objectPath } from '../../kube/objects/kube-object.ts';
import { apiClient } from '../../kube/api-client.ts';
import { podState, type PodStatus } from './objects/pod-state.ts';
import { deadlineIn } from '../../system/deadline.ts';
import type { PodGrant } from './pod-grant-file.ts';

type PodMetadata = NonNullable<PodStatus['metadata']>;

/** Time limit; the user waits meanwhile. Milliseconds. */
const patienceMs = 3_000;

/**
 * Finds out from the pod why a session was cut or is silent: the exec stream itself does not tell.
 *
 * @param isAnother whether the pod that has the name now is a later one, which another login has created
 * @returns undefined if the pod is running, or cannot be read
 */
export async function podLoss(
  { server, namespace }: PodGrant,
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
      forUser: true,
    });
  } catch {
    // The caller reports the error that it already has.
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
