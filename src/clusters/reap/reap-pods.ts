import { JobObjects, jobLabel } from './rules/orphaned-job-objects.ts';
import {
  type ExpiredPod,
  type OrphanedJob,
  planOrphans,
  planPods,
  type PodsPlan,
} from './rules/reap-pods-plan.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { deleteObject } from '../../kube/delete-object.ts';
import { reduceListPages } from '../../kube/list-all.ts';
import { recordEvent } from './record-event.ts';
import type { ReapContext } from './reap-context.ts';
import { apiError } from '../../kube/api-errors.ts';

export interface PodsOptions {
  /** Label selector of the pods that are reaped; if absent, all with a lifetime. */
  readonly podSelector?: string;
  /** Limit for one run; 0 for none. */
  readonly maxPods: number;
}

export interface ReapedPods extends PodsPlan {
  /** Number of Services, ConfigMaps and Secrets deleted with their jobs. */
  readonly objects: number;
  readonly failed: readonly BerthError[];
}

const collections = ['services', 'configmaps'] as const;

/**
 * Deletes pods past `pod.kubernetes.io/lifetime`, with the Services, ConfigMaps and Secrets of their jobs,
 * and those of jobs without a pod, as OSC's job-pod-reaper does. Secrets are never read: they are
 * deleted by label.
 */
export async function reapPods(
  round: ReapContext,
  { podSelector, maxPods }: PodsOptions,
): Promise<ReapedPods> {
  const { client, dryRun } = round;
  const most = maxPods === 0 ? Infinity : maxPods;
  const chosen = podSelector === undefined ? round.pods : await round.podsOf(podSelector);
  const plan = planPods(chosen, round.pods, most);
  const objects = await jobObjects(round, plan.expired);
  const { orphaned, later: jobsLater } = planOrphans(objects, most);
  const rest = {
    unreadable: plan.unreadable,
    stuck: plan.stuck,
    later: plan.later + jobsLater,
  };
  const full = [...round.pods.crowded, ...objects.flatMap((one) => one.crowded)];
  const failed = [...new Set(full)].map(crowded);
  if (dryRun) return { ...rest, expired: plan.expired, orphaned, objects: 0, failed };

  const done = { expired: [] as ExpiredPod[], orphaned: [] as OrphanedJob[] };
  let count = 0;
  let later = rest.later;
  for (const [index, pod] of plan.expired.entries()) {
    if (!(await round.mayGoOn())) {
      later += plan.expired.length - index;
      break;
    }
    try {
      if (await endPod(round, pod)) {
        done.expired.push(pod);
        // If a quota rejects the event, the pod is deleted all the same.
        await tell(round, pod);
      }
      if (pod.job !== undefined) count += await endJob(client, { ...pod, job: pod.job }, objects);
    } catch (thrown) {
      failed.push(asBerthError(thrown, `reaping pod ${pod.namespace}/${pod.name}`));
    }
  }
  for (const [index, job] of orphaned.entries()) {
    if (!(await round.mayGoOn())) {
      later += orphaned.length - index;
      break;
    }
    try {
      count += await endJob(client, job, objects);
      done.orphaned.push(job);
    } catch (thrown) {
      failed.push(asBerthError(thrown, `reaping the objects of job ${job.namespace}/${job.job}`));
    }
  }
  return { ...rest, ...done, later, objects: count, failed };
}

/** Services and ConfigMaps of jobs that have no pod, or none after these have ended. */
async function jobObjects(
  { client, namespaces, pods, now, secondsOf }: ReapContext,
  expired: readonly ExpiredPod[],
): Promise<JobObjects[]> {
  const crowded = new Set(pods.crowded);
  const input = {
    namespaces: new Set(
      namespaces.map(({ metadata }) => metadata.name).filter((name) => !crowded.has(name)),
    ),
    jobs: pods.jobs,
    ending: new Set(
      expired.flatMap(({ namespace, job }) => (job === undefined ? [] : [`${namespace}/${job}`])),
    ),
    time: { now: now(), secondsOf },
  };
  return Promise.all(
    collections.map((plural) =>
      reduceListPages(client, `/api/v1/${plural}`, {
        attempted: `listing the ${plural}`,
        labelSelector: jobLabel,
        metadataOnly: true,
        begin: () => new JobObjects(plural, input),
        add: (objects, object) => objects.add(object),
      }),
    ),
  );
}

function crowded(namespace: string): BerthError {
  return new BerthError(
    'reap-namespace-too-large',
    `namespace ${namespace} has more objects with the label ${jobLabel} than one run handles`,
  );
}

function endPod({ client }: ReapContext, pod: ExpiredPod): Promise<boolean> {
  const { namespace, name, uid, gracePeriodSeconds } = pod;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  return deleteObject(client, {
    what: `pod ${namespace}/${name}`,
    path,
    preconditions: { uid },
    gracePeriodSeconds,
  });
}

async function tell({ client, now }: ReapContext, pod: ExpiredPod): Promise<void> {
  const { namespace, name, uid, lifetime } = pod;
  await recordEvent(client, {
    about: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    namespace,
    reason: 'LifetimeExceeded',
    message: `Deleted by berth reap: its lifetime has expired (pod.kubernetes.io/lifetime ${lifetime})`,
    now: now(),
  });
}

async function endJob(
  client: ApiClient,
  job: OrphanedJob,
  objects: readonly JobObjects[],
): Promise<number> {
  const inNamespace = `/api/v1/namespaces/${encodeURIComponent(job.namespace)}`;
  let count = await deleteByLabel(client, `${inNamespace}/secrets`, `${jobLabel}=${job.job}`);
  for (const kind of objects) {
    for (const { name, uid } of kind.of(job)) {
      const gone = await deleteObject(client, {
        what: `${kind.plural} ${job.namespace}/${name}`,
        path: `${inNamespace}/${kind.plural}/${encodeURIComponent(name)}`,
        preconditions: { uid },
      });
      if (gone) count += 1;
    }
  }
  return count;
}

/**
 * Deletes all objects with a label without reading them, as is needed for Secrets.
 *
 * @returns The number of deleted objects.
 * @throws the `api-…` errors
 */
async function deleteByLabel(
  client: ApiClient,
  path: string,
  labelSelector: string,
): Promise<number> {
  const answer = await client.send({
    method: 'DELETE',
    path: `${path}?${new URLSearchParams({ labelSelector }).toString()}`,
    accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
  });
  if (answer.status !== 200) throw apiError(`deleting what is ${labelSelector} at ${path}`, answer);
  const { items } = answer.body as { readonly items?: readonly unknown[] };
  return items?.length ?? 0;
}
