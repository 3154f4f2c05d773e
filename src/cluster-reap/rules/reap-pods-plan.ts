import { goDurationMs } from '../../desired/go-duration.ts';
import { inTurns } from '../../desired/in-turns.ts';
import { jobKey, jobOf, type JobObjects, type ServerTime } from '../../desired/job-objects.ts';
import type { LiveObject } from '../../desired/kube-object.ts';
import { lifetimeAnnotation } from '../../desired/names.ts';

/** A pod that is past its time, and for which something can be done. */
export interface ExpiredPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Seconds. */
  readonly age: number;
  readonly lifetime: string;
  /** What its processes are given for their end. */
  readonly gracePeriodSeconds: number;
  /** It was deleted before, with a longer grace period. */
  readonly again: boolean;
  /** Its job, where no other pod belongs to it: what else is of the job goes with it. */
  readonly job?: string;
}

/** Pods of a namespace that are past their time and deleted, and still there: nothing more can be done. */
export interface StuckPods {
  readonly namespace: string;
  readonly count: number;
  /** Name of one of them. */
  readonly first: string;
  /** Finalizers hold the objects, whose containers end; else the node has not ended them. */
  readonly finalizers: boolean;
}

/** What is left of a job without a pod. */
export interface OrphanedJob {
  readonly namespace: string;
  readonly job: string;
}

/** More of a namespace's pods are not kept in memory at once: the rest is for the next run. */
const mostOfNamespace = 1_000;
/** Jobs of a namespace; where there are more, objects of jobs are not touched in it. */
const mostJobs = 10_000;
/** Of a namespace's pods whose lifetime nobody can read, so many are named. */
const mostUnreadable = 10;
/** Longer than every duration; users write this. */
const longestLifetime = 64;

/** Seconds for the processes of a pod at the end of its lifetime, as Kubernetes gives by default. */
const graceSeconds = 30;
/** Of one that is still there after that: by 0 the object goes, and its processes may run on. */
const lastGraceSeconds = 1;
/** How much longer than the grace period a node may take. Seconds. */
const marginSeconds = 60;

/**
 * What the reaper keeps of the pods of a cluster while they are listed: of most of them only that there is
 * one. Users write them, and any number.
 */
export class SeenPods {
  /** When the youngest pod of each namespace was created, in seconds since the epoch. */
  readonly youngest = new Map<string, number>();
  /** How many pods each job has, by `jobKey`; namespaces with too many jobs are among `crowded`. */
  readonly jobs = new Map<string, number>();
  readonly expired: ExpiredPod[] = [];
  readonly unreadable: { readonly namespace: string; readonly name: string }[] = [];
  readonly #stuck = new Map<string, StuckPods>();
  /** Expired and not kept. */
  later = 0;
  readonly #counts = new Map<string, { expired: number; jobs: number; unreadable: number }>();
  readonly #namespaces: ReadonlySet<string>;
  readonly #time: ServerTime;

  /** @param namespaces In which may be reaped. */
  constructor(namespaces: ReadonlySet<string>, time: ServerTime) {
    this.#namespaces = namespaces;
    this.#time = time;
  }

  get stuck(): StuckPods[] {
    return [...this.#stuck.values()];
  }

  /** Namespaces with so many jobs that nothing is said of which of them has a pod. */
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
      ...{ namespace, name, uid: metadata.uid ?? '', age: Math.floor(age), lifetime },
      ...{ gracePeriodSeconds, again: metadata.deletionTimestamp !== undefined },
      ...(job === undefined ? {} : { job }),
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
 * Seconds with which a pod is to be deleted now. Where admission lets them, its owner may have deleted it with
 * as long a grace period as they liked, which each further deletion can only make shorter. The kubelet (1.36)
 * heeds that only where it was restarted since (kubernetes#113606). Nothing where no deletion would help.
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
  /** Pods whose lifetime nobody can read. */
  readonly unreadable: readonly { readonly namespace: string; readonly name: string }[];
  readonly stuck: readonly StuckPods[];
  /** Over, and left to the next run. */
  readonly later: number;
}

/**
 * Which pods end in this run: the oldest of each namespace first, and the places are shared among the
 * namespaces.
 *
 * @param chosen Of the pods that the site's selector takes.
 * @param all Of all pods.
 */
export function planPods(
  chosen: SeenPods,
  all: SeenPods,
  most: number,
): Omit<PodsPlan, 'orphaned'> {
  const crowded = new Set(all.crowded);
  const queue = inTurns(
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
 * Which orphaned jobs go in this run; their places are shared in the same way.
 *
 * @param objects Of each kind.
 */
export function planOrphans(
  objects: readonly JobObjects[],
  most: number,
): { readonly orphaned: readonly OrphanedJob[]; readonly later: number } {
  const jobs = objects.flatMap(({ orphaned }) => orphaned);
  const once = new Map(jobs.map((one) => [`${one.namespace}/${one.job}`, one]));
  const queue = inTurns([...once.values()], ({ namespace }) => namespace);
  return { orphaned: queue.slice(0, most), later: Math.max(0, queue.length - most) };
}
