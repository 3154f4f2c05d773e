import type { LiveObject } from './kube-object.ts';

/** Which pod a Service, ConfigMap or Secret of a job belongs to. */
export const jobLabel = 'job';

/** A Service or ConfigMap of a job, as far as its deletion needs it. */
export interface JobObject {
  readonly name: string;
  readonly uid: string;
}

/** A job's objects may be there before its pod is. Seconds. */
const orphanAge = 600;

/** More of a namespace's objects are not kept in memory at once. */
const mostOfNamespace = 1_000;

/** The API server's time; pure code has no clock of its own. */
export interface ServerTime {
  /** Seconds since the epoch. */
  readonly now: number;
  /** An RFC 3339 time, in the same seconds. */
  readonly secondsOf: (timestamp: string | undefined) => number;
}

export interface JobsInput {
  /** In which may be reaped. */
  readonly namespaces: ReadonlySet<string>;
  /** How many pods each job has, by `jobKey`. */
  readonly jobs: ReadonlyMap<string, number>;
  /** Jobs whose last pod ends in this run, by `jobKey`. */
  readonly ending: ReadonlySet<string>;
  readonly time: ServerTime;
}

/**
 * What the reaper keeps of Services, or of ConfigMaps, while they are listed: those of jobs that have no pod,
 * or have none after this run. What is being deleted already is none of them: with a finalizer it may stay.
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

  /** Jobs without a pod, in the order in which they were seen. */
  get orphaned(): { readonly namespace: string; readonly job: string }[] {
    return [...this.#orphans].flatMap((key) => {
      const kept = this.#kept.get(key);
      return kept === undefined ? [] : [{ namespace: kept.namespace, job: kept.job }];
    });
  }

  /** Namespaces with more objects than are kept. */
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
 * The job of an object that is OnDemand's adapter's, as that names them (ood_core, `id`, `service_name`,
 * `configmap_name`) or labels them: a user's own pods and ConfigMaps may have a label `job` as well.
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

/** One job of one namespace. */
export function jobKey({ metadata }: LiveObject): string | undefined {
  const job = metadata.labels?.[jobLabel];
  return job === undefined ? undefined : `${metadata.namespace ?? ''}/${job}`;
}
