import { goDurationMs } from './go-duration.ts';
import type { LiveObject } from './kube-object.ts';
import { lifetimeAnnotation } from './names.ts';

/** Which pod a Service, ConfigMap or Secret of a job belongs to. */
export const jobLabel = 'job';

/** A pod that is past its time. */
export interface ExpiredPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Seconds. */
  readonly age: number;
  readonly lifetime: string;
  /** Its job, where no other pod belongs to it: what else is of the job goes with it. */
  readonly job?: string;
}

/** What is left of a job without a pod. */
export interface OrphanedJob {
  readonly namespace: string;
  readonly job: string;
}

export interface PodsPlan {
  readonly expired: readonly ExpiredPod[];
  readonly orphaned: readonly OrphanedJob[];
  /** Pods whose lifetime nobody can read. */
  readonly unreadable: readonly { readonly namespace: string; readonly name: string }[];
}

export interface PodsInput {
  /** Namespaces in which may be reaped. */
  readonly namespaces: ReadonlySet<string>;
  /** Every pod of the cluster. */
  readonly pods: readonly LiveObject[];
  /** Keys (`namespaceAndName`) of the pods that the site's selector takes; all where absent. */
  readonly selected?: ReadonlySet<string>;
  /** Services and ConfigMaps with a job's label. */
  readonly objects: readonly LiveObject[];
  /** How old an object is by the API server's clock, in seconds. */
  readonly ageOf: (object: LiveObject) => number;
}

/** A job's objects may be there before its pod is. Seconds. */
const orphanAge = 600;

export function namespaceAndName({ metadata }: LiveObject): string {
  return `${namespaceOf(metadata)}/${metadata.name}`;
}

/** What is over in the namespaces of users: the oldest first. */
export function planPods({ namespaces, pods, selected, objects, ageOf }: PodsInput): PodsPlan {
  const ours = pods.filter(({ metadata }) => namespaces.has(namespaceOf(metadata)));
  const podsOfJob = new Map<string, number>();
  for (const pod of ours) {
    const key = jobKey(pod);
    if (key !== undefined) podsOfJob.set(key, (podsOfJob.get(key) ?? 0) + 1);
  }
  const expired: ExpiredPod[] = [];
  const unreadable: { namespace: string; name: string }[] = [];
  for (const pod of ours) {
    const { metadata } = pod;
    const lifetime = metadata.annotations?.[lifetimeAnnotation];
    if (lifetime === undefined || metadata.deletionTimestamp !== undefined) continue;
    if (selected?.has(namespaceAndName(pod)) === false) continue;
    const at = { namespace: namespaceOf(metadata), name: metadata.name };
    const milliseconds = goDurationMs(lifetime);
    const age = ageOf(pod);
    if (milliseconds === undefined) unreadable.push(at);
    else if (age * 1000 > milliseconds) {
      const alone = podsOfJob.get(jobKey(pod) ?? '') === 1;
      const job = metadata.labels?.[jobLabel];
      expired.push({
        ...{ ...at, uid: metadata.uid ?? '', age: Math.floor(age), lifetime },
        ...(alone && job !== undefined && isOfAdapter(pod, job) ? { job } : {}),
      });
    }
  }
  const orphans = new Map<string, OrphanedJob>();
  for (const object of objects) {
    const key = jobKey(object);
    const job = object.metadata.labels?.[jobLabel];
    const namespace = namespaceOf(object.metadata);
    if (key === undefined || job === undefined || !namespaces.has(namespace)) continue;
    if (podsOfJob.has(key) || ageOf(object) < orphanAge) continue;
    if (isOfAdapter(object, job)) orphans.set(key, { namespace, job });
  }
  return {
    expired: expired.sort((one, other) => other.age - one.age),
    orphaned: [...orphans.values()],
    unreadable,
  };
}

/**
 * As OnDemand's adapter names them (ood_core, `id`, `service_name`, `configmap_name`), or labels them: a
 * user's own pods and ConfigMaps may have a label `job` as well.
 */
function isOfAdapter({ metadata }: LiveObject, job: string): boolean {
  return (
    metadata.labels?.['app.kubernetes.io/managed-by'] === 'open-ondemand' ||
    metadata.name === job ||
    metadata.name === `${job}-service` ||
    metadata.name === `${job}-configmap`
  );
}

function jobKey({ metadata }: LiveObject): string | undefined {
  const job = metadata.labels?.[jobLabel];
  return job === undefined ? undefined : `${namespaceOf(metadata)}/${job}`;
}

function namespaceOf(metadata: LiveObject['metadata']): string {
  return metadata.namespace ?? '';
}
