import { goDurationMs } from '../../../kube/objects/go-duration.ts';
import type { LiveObject } from '../../../kube/objects/kube-object.ts';
import { lifetimeAnnotation } from '../../../kube/objects/well-known-names.ts';
import { jobKey, type JobObjects, jobOf, type ServerTime } from './orphaned-job-objects.ts';

/** An expired pod that can be deleted. */
export interface ExpiredPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Seconds. */
  readonly age: number;
  readonly lifetime: string;
  /** Grace period of the deletion. */
  readonly gracePeriodSeconds: number;
  /** Whether it was deleted before, with a longer grace period. */
  readonly again: boolean;
  /** Its job, if it is the only pod of the job: the job's objects are deleted with it. */
  readonly job?: string;
}

/** Expired pods of a namespace that were deleted and still exist: nothing more can be done. */
export interface StuckPods {
  readonly namespace: string;
  readonly count: number;
  /** Name of one of them. */
  readonly first: string;
  /** True if finalizers hold the objects, whose containers end; else the node has not ended them. */
  readonly finalizers: boolean;
}

/** A job without a pod whose objects still exist. */
export interface OrphanedJob {
  readonly namespace: string;
  readonly job: string;
}

/** Expired pods of a namespace that are kept in memory; the rest is left for the next run. */
const mostOfNamespace = 1_000;
/** Jobs of a namespace; if there are more, objects of its jobs are not deleted. */
const mostJobs = 10_000;
/** Pods of a namespace with an unreadable lifetime that are named. */
const mostUnreadable = 10;
/** In characters, more than any valid duration has: users write this value. */
const longestLifetime = 64;

/** Grace period in seconds at the end of a pod's lifetime: the default of Kubernetes. */
const graceSeconds = 30;
/** Grace period if the pod still exists after that. With 0 its processes could go on without the object. */
const lastGraceSeconds = 1;
/** How much longer than the grace period a node may take. Seconds. */
const marginSeconds = 60;

/**
 * What the reaper keeps of the pods of a cluster while it lists them. Users can create any number of
 * pods, so most are only counted.
 */
export class PodTally {
  /** When the youngest pod of each namespace was created, in seconds since the epoch. */
  readonly youngest = new Map<string, number>();
  /** How many pods each job has, by `jobKey`; see `crowded` for namespaces with too many jobs. */
  readonly jobs = new Map<string, number>();
  readonly expired: ExpiredPod[] = [];
  readonly unreadable: { readonly namespace: string; readonly name: string }[] = [];
  readonly #stuck = new Map<string, StuckPods>();
  /** Number of expired pods left for the next run. */
  later = 0;
  readonly #counts = new Map<string, { expired: number; jobs: number; unreadable: number }>();
  readonly #namespaces: ReadonlySet<string>;
  readonly #time: ServerTime;

  /** @param namespaces Those that are reaped. */
  constructor(namespaces: ReadonlySet<string>, time: ServerTime) {
    this.#namespaces = namespaces;
    this.#time = time;
  }

  get stuck(): StuckPods[] {
    return [...this.#stuck.values()];
  }

  /** Namespaces with too many jobs to know which of them have a pod. */
  get crowded(): string[] {
    return [...this.#counts].flatMap(([name, { jobs }]) => (jobs > mostJobs ? [name] : []));
  }

  add(pod: LiveObject): void {
    const { metadata } = pod;
    const { name, namespace = '' } = metadata;
    const created = this.#time.secondsOf(metadata.creationTimestamp);
    this.youngest.set(namespace, Math.max(this.youngest.get(namespace) ?? -Infinity, created));
    if (!this.#namespaces.has(namespace)) return;
    const counts = this.#counts.get(namespace) ?? { expired: 0, jobs: 0, unreadable: 0 };
    this.#counts.set(namespace, counts);
    this.#count(pod, counts);
    const lifetime = metadata.annotations?.[lifetimeAnnotation];
    if (lifetime === undefined) return;
    const age = this.#time.now - created;
    const milliseconds = lifetime.length > longestLifetime ? undefined : goDurationMs(lifetime);
    if (milliseconds === undefined) {
      counts.unreadable += 1;
      if (counts.unreadable <= mostUnreadable) this.unreadable.push({ namespace, name });
      return;
    }
    if (age * 1000 <= milliseconds) return;
    const gracePeriodSeconds = graceFor(pod, this.#time);
    if (gracePeriodSeconds === undefined) {
      this.#noteStuck(pod);
      return;
    }
    counts.expired += 1;
    if (counts.expired > mostOfNamespace) {
      this.later += 1;
      return;
    }
    const job = jobOf(pod);
    this.expired.push({
      namespace,
      name,
      uid: metadata.uid ?? '',
      age: Math.floor(age),
      lifetime,
      gracePeriodSeconds,
      again: metadata.deletionTimestamp !== undefined,
      job,
    });
  }

  #count(pod: LiveObject, counts: { jobs: number }): void {
    const key = jobKey(pod);
    if (key === undefined) return;
    const before = this.jobs.get(key);
    if (before === undefined) counts.jobs += 1;
    if (counts.jobs <= mostJobs) this.jobs.set(key, (before ?? 0) + 1);
  }

  #noteStuck({ metadata }: LiveObject): void {
    const { name, namespace = '', deletionTimestamp } = metadata;
    if (this.#time.now < this.#time.secondsOf(deletionTimestamp) + marginSeconds) return;
    const finalizers = (metadata.finalizers ?? []).length > 0;
    const key = `${namespace}/${String(finalizers)}`;
    const { count, first } = this.#stuck.get(key) ?? { count: 0, first: name };
    this.#stuck.set(key, { namespace, first, finalizers, count: count + 1 });
  }
}

/**
 * The grace period for deleting a pod now, in seconds. Unless admission limits it, its owner may have deleted it
 * with any grace period, which another deletion can only shorten. The kubelet (1.36) honours that only after a
 * restart (kubernetes#113606). Undefined if another deletion would not help.
 */
function graceFor({ metadata }: LiveObject, { now, secondsOf }: ServerTime): number | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds: given = 0 } = metadata;
  if (deletionTimestamp === undefined || given > graceSeconds) return graceSeconds;
  const over = now > secondsOf(deletionTimestamp) + marginSeconds;
  return over && given > lastGraceSeconds ? lastGraceSeconds : undefined;
}

export interface PodsPlan {
  readonly expired: readonly ExpiredPod[];
  readonly orphaned: readonly OrphanedJob[];
  /** Pods with an unreadable lifetime. */
  readonly unreadable: readonly { readonly namespace: string; readonly name: string }[];
  readonly stuck: readonly StuckPods[];
  /** Number of expired pods left for the next run. */
  readonly later: number;
}

/**
 * Which pods are deleted in this run: the oldest of each namespace first, taking turns among the
 * namespaces.
 *
 * @param chosen The pods that match the site's selector.
 * @param all All pods.
 * @param most The limit of the run.
 */
export function planPods(
  chosen: PodTally,
  all: PodTally,
  most: number,
): Omit<PodsPlan, 'orphaned'> {
  const crowded = new Set(all.crowded);
  const queue = roundRobin(
    chosen.expired.toSorted((one, other) => other.age - one.age),
    ({ namespace }) => namespace,
  );
  const expired = queue.slice(0, most).map(({ job, ...pod }) => {
    const alone = job !== undefined && all.jobs.get(`${pod.namespace}/${job}`) === 1;
    return alone && !crowded.has(pod.namespace) ? { ...pod, job } : pod;
  });
  const later = chosen.later + queue.length - expired.length;
  return { expired, later, unreadable: chosen.unreadable, stuck: chosen.stuck };
}

/**
 * Which orphaned jobs are cleaned up in this run, taking turns in the same way.
 *
 * @param objects One for each kind.
 */
export function planOrphans(
  objects: readonly JobObjects[],
  most: number,
): { readonly orphaned: readonly OrphanedJob[]; readonly later: number } {
  const jobs = objects.flatMap(({ orphaned }) => orphaned);
  const once = new Map(jobs.map((one) => [`${one.namespace}/${one.job}`, one]));
  const queue = roundRobin([...once.values()], ({ namespace }) => namespace);
  return { orphaned: queue.slice(0, most), later: Math.max(0, queue.length - most) };
}

/**
 * Round robin: the first item of each group, then the second of each, and so on. The order within a group
 * stays, and the groups are in the order of their first items.
 */
function roundRobin<T>(items: readonly T[], groupOf: (item: T) => string): T[] {
  const groups = [...Map.groupBy(items, groupOf).values()];
  const longest = Math.max(0, ...groups.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) => turn).flatMap((turn) =>
    groups.flatMap((group) => group.slice(turn, turn + 1)),
  );
}
