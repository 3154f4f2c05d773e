import {
  type ExpiredPod,
  jobLabel,
  namespaceAndName,
  type OrphanedJob,
  planPods,
  type PodsPlan,
} from '../desired/reap-pods-plan.ts';
import type { LiveObject } from '../desired/kube-object.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import type { ApiClient } from '../reconcile/api-client.ts';
import { deleteLabelled, deleteObject } from '../reconcile/delete-object.ts';
import { listAll } from '../reconcile/list-all.ts';
import { tellEvent } from '../reconcile/tell-event.ts';
import type { ReapRound } from './reap-cluster.ts';

export interface PodsOptions {
  /** Label selector of the pods that may be reaped; absent: whatever has a lifetime. */
  readonly podSelector?: string;
  /** The most in one run; 0 for no limit. */
  readonly maxPods: number;
}

export interface ReapedPods extends PodsPlan {
  /** Over, and left to the next run. */
  readonly later: number;
  /** Services, ConfigMaps and Secrets that went with their jobs. */
  readonly objects: number;
  readonly failed: readonly BerthError[];
}

const collections = ['services', 'configmaps'] as const;

/**
 * Ends pods past `pod.kubernetes.io/lifetime`, with the Services, ConfigMaps and Secrets of their jobs,
 * and what jobs without a pod left, as OSC's job-pod-reaper does. Secrets are never read: they go by
 * their label.
 */
export async function reapPods(
  round: ReapRound,
  { podSelector, maxPods }: PodsOptions,
): Promise<ReapedPods> {
  const { client, dryRun } = round;
  const [selected, ...lists] = await Promise.all([
    podSelector === undefined ? undefined : selectedPods(client, podSelector),
    ...collections.map((plural) =>
      listAll(client, `/api/v1/${plural}`, {
        ...{ attempted: `listing the ${plural}`, labelSelector: jobLabel, metadataOnly: true },
      }),
    ),
  ]);
  // In a list, the objects come without what they are.
  const objects = collections.map((plural, at) => ({ plural, live: lists[at] ?? [] }));
  const plan = planPods({
    namespaces: new Set(round.namespaces.map(({ metadata }) => metadata.name)),
    pods: round.pods,
    ...(selected === undefined ? {} : { selected }),
    objects: lists.flat(),
    ageOf: round.ageOf,
  });
  const most = maxPods === 0 ? Infinity : maxPods;
  const expired = plan.expired.slice(0, most);
  const orphaned = plan.orphaned.slice(0, most);
  const later = plan.expired.length + plan.orphaned.length - expired.length - orphaned.length;
  if (dryRun) return { ...plan, expired, orphaned, later, objects: 0, failed: [] };

  const done = { expired: [] as ExpiredPod[], orphaned: [] as OrphanedJob[] };
  const failed: BerthError[] = [];
  let count = 0;
  for (const pod of expired) {
    if (!(await round.mayGoOn())) break;
    try {
      if (await endPod(round, pod)) done.expired.push(pod);
      if (pod.job !== undefined) count += await endJob(client, { ...pod, job: pod.job }, objects);
    } catch (thrown) {
      failed.push(asBerthError(thrown, `reaping pod ${pod.namespace}/${pod.name}`));
    }
  }
  for (const job of orphaned) {
    if (!(await round.mayGoOn())) break;
    try {
      count += await endJob(client, job, objects);
      done.orphaned.push(job);
    } catch (thrown) {
      failed.push(asBerthError(thrown, `reaping what job ${job.namespace}/${job.job} left`));
    }
  }
  return { ...done, unreadable: plan.unreadable, later, objects: count, failed };
}

async function selectedPods(
  client: ApiClient,
  labelSelector: string,
): Promise<ReadonlySet<string>> {
  const attempted = 'listing the pods';
  const pods = await listAll(client, '/api/v1/pods', {
    ...{ attempted, labelSelector, metadataOnly: true },
  });
  return new Set(pods.map(namespaceAndName));
}

async function endPod({ client, now }: ReapRound, pod: ExpiredPod): Promise<boolean> {
  const { namespace, name, uid, lifetime } = pod;
  await tellEvent(client, {
    about: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    namespace,
    reason: 'LifetimeExceeded',
    message: `Ended by berth reap: its time was over (pod.kubernetes.io/lifetime ${lifetime})`,
    now: now(),
  });
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  return deleteObject(client, {
    what: `pod ${namespace}/${name}`,
    path,
    preconditions: { uid },
  });
}

async function endJob(
  client: ApiClient,
  { namespace, job }: OrphanedJob,
  objects: readonly { readonly plural: string; readonly live: readonly LiveObject[] }[],
): Promise<number> {
  const inNamespace = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
  let count = await deleteLabelled(client, `${inNamespace}/secrets`, `${jobLabel}=${job}`);
  for (const { plural, live } of objects) {
    const mine = live.filter(
      ({ metadata }) => metadata.namespace === namespace && metadata.labels?.[jobLabel] === job,
    );
    for (const { metadata } of mine) {
      const gone = await deleteObject(client, {
        what: `${plural} ${namespace}/${metadata.name}`,
        path: `${inNamespace}/${plural}/${encodeURIComponent(metadata.name)}`,
        preconditions: { uid: metadata.uid ?? '' },
      });
      if (gone) count += 1;
    }
  }
  return count;
}
