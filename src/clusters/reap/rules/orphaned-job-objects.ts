import type { LiveObject } from '../../../kube/objects/kube-object.ts';

/** Label with the job of a pod, Service, ConfigMap or Secret. */
export const jobLabel = 'job';

/** A Service or ConfigMap of a job. */
export interface JobObject {
  readonly name: string;
  readonly uid: string;
}

/** In seconds: a job's objects may exist before its pod does. */
const orphanAge = 600;

/** Limit of a namespace's objects in memory. */
const mostOfNamespace = 1_000;

/** The API server's time. */
export interface ServerTime {
  /** Seconds since the epoch. */
  readonly now: number;
  /** An RFC 3339 time, in the same seconds. */
  readonly secondsOf: (timestamp: string | undefined) => number;
}

export interface JobsInput {
  /** Namespaces that are reaped. */
  readonly namespaces: ReadonlySet<string>;
  /** Number of pods of each job, by `jobKey`. */
  readonly jobs: ReadonlyMap<string, number>;
  /** Jobs whose last pod is deleted in this run, by `jobKey`. */
  readonly ending: ReadonlySet<string>;
  readonly time: ServerTime;
}

/**
 * The Services, or ConfigMaps, that the reaper keeps while it lists them: those of jobs that have no pod, or have
 * none after this run. Objects that are already being deleted are left out.
 */
export class JobObjects {
  /** `services`. */
  readonly plural: string;
  readonly #input: JobsInput;
  readonly #kept = new Map<string, { namespace: string; job: string; objects: JobObject[] }>();
  readonly #orphans = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(plural: string, input: JobsInput) {
    this.plural = plural;
    this.#input = input;
  }

  /** Jobs without a pod, in the order of the list. */
  get orphaned(): { readonly namespace: string; readonly job: string }[] {
    return [...this.#orphans].flatMap((key) => {
      const kept = this.#kept.get(key);
      return kept === undefined ? [] : [{ namespace: kept.namespace, job: kept.job }];
    });
  }

  /** Namespaces with more objects than the limit. */
  get crowded(): string[] {
    return [...this.#counts].flatMap(([name, count]) => (count > mostOfNamespace ? [name] : []));
  }

  of({ namespace, job }: { readonly namespace: string; readonly job: string }): JobObject[] {
    return this.#kept.get(`${namespace}/${job}`)?.objects ?? [];
  }

  add(object: LiveObject): void {
    const { name, namespace = '', uid = '', labels, deletionTimestamp } = object.metadata;
    const { namespaces, jobs, ending, time } = this.#input;
    const key = jobKey(object);
    const job = labels?.[jobLabel];
    if (key === undefined || job === undefined || !namespaces.has(namespace)) return;
    if (deletionTimestamp !== undefined || (jobs.has(key) && !ending.has(key))) return;
    const count = (this.#counts.get(namespace) ?? 0) + 1;
    this.#counts.set(namespace, count);
    if (count > mostOfNamespace) return;
    const kept = this.#kept.get(key) ?? { namespace, job, objects: [] };
    this.#kept.set(key, kept);
    kept.objects.push({ name, uid });
    const age = time.now - time.secondsOf(object.metadata.creationTimestamp);
    if (!jobs.has(key) && age >= orphanAge && jobOf(object) !== undefined) this.#orphans.add(key);
  }
}

/**
 * The job of an object that OnDemand's adapter made, by its name (ood_core, `id`, `service_name`,
 * `configmap_name`) or label: a user's own objects may have a label `job` too.
 */
export function jobOf({ metadata }: LiveObject): string | undefined {
  const job = metadata.labels?.[jobLabel];
  const isOfAdapter =
    metadata.labels?.['app.kubernetes.io/managed-by'] === 'open-ondemand' ||
    metadata.name === job ||
    metadata.name === `${job ?? ''}-service` ||
    metadata.name === `${job ?? ''}-configmap`;
  return isOfAdapter ? job : undefined;
}

/** Key of a job: namespace and label. */
export function jobKey({ metadata }: LiveObject): string | undefined {
  const job = metadata.labels?.[jobLabel];
  return job === undefined ? undefined : `${metadata.namespace ?? ''}/${job}`;
}
