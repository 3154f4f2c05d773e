import { BerthError } from '../../../system/errors/berth-error.ts';
import { objectPath } from '../../../kube/objects/kube-object.ts';
import { type ApiClient, withApiClient } from '../../../kube/api-client.ts';
import { apiError } from '../../../kube/api-errors.ts';
import type { PodId } from '../../../kube/delete-object.ts';
import { podState, type PodStatus } from './objects/pod-state.ts';
import { deadlineIn } from '../../../system/deadline.ts';
import type { PodGrant } from './pod-grant-file.ts';

/** A pod as it is now. @returns undefined if it does not exist. @throws {BerthError} the `api-…` errors */
export async function readPod(
  client: ApiClient,
  { name, namespace }: Pick<PodId, 'name' | 'namespace'>,
): Promise<PodStatus | undefined> {
  const path = objectPath({ kind: 'Pod', metadata: { name, namespace } });
  const answer = await client.send({ method: 'GET', path });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw apiError(`reading pod ${namespace}/${name}`, answer);
  return answer.body;
}

/**
 * When the cluster ends a pod, whoever uses it. Milliseconds since the epoch.
 *
 * @returns undefined if it has no time limit, does not run, or cannot be read
 */
export async function podEnd(grant: PodGrant, name: string): Promise<number | undefined> {
  const pod = await readGranted(grant, name).catch(() => undefined);
  return pod && endOf(pod);
}

function endOf({ spec, status }: PodStatus): number | undefined {
  const end = Date.parse(status?.startTime ?? '') + (spec?.activeDeadlineSeconds ?? NaN) * 1000;
  return Number.isNaN(end) ? undefined : end;
}

async function readGranted(
  { server, namespace }: PodGrant,
  name: string,
): Promise<PodStatus | undefined> {
  const { signal } = deadlineIn(timeoutMs);
  return withApiClient(server, signal, (client) => readPod(client, { name, namespace }));
}

type PodMetadata = NonNullable<PodStatus['metadata']>;

/** Time limit; the user waits meanwhile. Milliseconds. */
const timeoutMs = 3_000;

/**
 * Finds out from the pod why a session was cut or is silent: the exec stream itself does not tell.
 *
 * @param isAnother whether the pod that has the name now is a later one, which another login has created
 * @returns undefined if the pod is running, or cannot be read
 */
export async function podLoss(
  grant: PodGrant,
  name: string,
  isAnother: (metadata: PodMetadata) => boolean,
): Promise<BerthError | undefined> {
  try {
    const pod = await readGranted(grant, name);
    const what = pod === undefined ? 'deleted' : fateOf(pod, isAnother);
    if (what === undefined) return undefined;
    const place = `${grant.namespace}/${name}`;
    return new BerthError(
      'pod-lost',
      `the pod of your session was ${what} while it ran (${place})`,
      {
        forUser: true,
      },
    );
  } catch {
    // The caller reports the error that it already has.
    return undefined;
  }
}

function fateOf(pod: PodStatus, isAnother: (metadata: PodMetadata) => boolean): string | undefined {
  const state = podState(pod);
  if (state.kind === 'ending') return 'deleted';
  if (state.kind === 'failed')
    return state.code === 'pod-time-limit' ? 'ended at its time limit' : `ended (${state.detail})`;
  if (isAnother(pod.metadata ?? {})) return 'deleted';
  // The node ends its processes before the cluster says so.
  return (endOf(pod) ?? Infinity) <= Date.now() ? 'ended at its time limit' : undefined;
}
