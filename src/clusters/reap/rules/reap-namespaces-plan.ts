import type { LiveObject } from '../../../kube/objects/kube-object.ts';
import { annotations } from '../../../kube/objects/well-known-names.ts';

/** Label of a namespace that is never reaped, unless its value is `false`. */
const keepLabel = 'berth.dev/keep';

/** Longest time that the deletion of a namespace takes, in seconds, if its pods end and nobody holds it. */
const longestDeletion = 15 * 60;

/** A namespace without recent use. */
export interface UnusedNamespace {
  readonly name: string;
  readonly owner: string;
  readonly uid: string;
  /** Precondition of the deletion: a login in the meantime changes it. */
  readonly resourceVersion: string;
  /** Seconds since the last run of the hook. */
  readonly unused: number;
}

export interface NamespacesPlan {
  readonly unused: readonly UnusedNamespace[];
  /** Old enough but not deleted, with the reason. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
}

export interface NamespacesInput {
  readonly namespaces: readonly LiveObject[];
  /** When the youngest pod of each namespace was created, in seconds since the epoch. */
  readonly youngest: ReadonlyMap<string, number>;
  /** Namespaces with pods that have not ended. */
  readonly busy: ReadonlySet<string>;
  /** Namespaces with claims of `volume_claims`, which Berth never deletes. */
  readonly withVolumes: ReadonlySet<string>;
  /** Namespaces with PersistentVolumeClaims, whose data would be deleted. */
  readonly withClaims: ReadonlySet<string>;
  /** Namespaces in which Prometheus saw a pod, if it is queried. */
  readonly active?: ReadonlySet<string>;
  /** Minimum age of a namespace and of its last pod, in seconds. */
  readonly after: number;
  /** Minimum time since the last login, in seconds. */
  readonly lastLogin: number;
  /** The whole name of a namespace that may be deleted. */
  readonly names?: RegExp;
  /** The API server's time, seconds since the epoch. */
  readonly now: number;
  /** How old an object is by that, in seconds. */
  readonly ageOf: (object: LiveObject) => number;
  /** Converts an RFC 3339 time to seconds since the epoch. */
  readonly secondsOf: (timestamp: string) => number;
}

/** Whether the namespace has the label that keeps it. */
export function isKept({ metadata }: LiveObject): boolean {
  return (metadata.labels?.[keepLabel] ?? 'false') !== 'false';
}

/** Namespaces to be deleted, the longest unused first. In doubt a namespace is kept. */
export function planNamespaceReap(input: NamespacesInput): NamespacesPlan {
  const unused: UnusedNamespace[] = [];
  const left: { name: string; reason: string }[] = [];
  for (const live of input.namespaces) {
    const { metadata } = live;
    const { name } = metadata;
    if (isKept(live)) continue;
    if (metadata.deletionTimestamp !== undefined) {
      if (input.now - input.secondsOf(metadata.deletionTimestamp) > longestDeletion)
        left.push({
          name,
          reason: `it was deleted at ${metadata.deletionTimestamp} and still exists: finalizers of objects in it may hold it, see kubectl get namespace ${name} -o yaml`,
        });
      continue;
    }
    if (input.names?.test(name) === false || input.ageOf(live) < input.after) continue;
    const stamp = metadata.annotations?.[annotations.lastHookExecution];
    if (stamp === undefined || !/^[0-9]{1,12}$/.test(stamp)) {
      left.push({
        name,
        reason: `its annotation ${annotations.lastHookExecution} is missing or invalid`,
      });
      continue;
    }
    const seconds = input.now - Number(stamp);
    if (seconds < input.lastLogin) continue;
    const reason = inUse(name, input, input.now - (input.youngest.get(name) ?? -Infinity));
    if (reason !== undefined) {
      left.push({ name, reason });
      continue;
    }
    unused.push({
      name,
      owner: metadata.annotations?.[annotations.owner] ?? '',
      unused: seconds,
      uid: metadata.uid ?? '',
      resourceVersion: metadata.resourceVersion ?? '',
    });
  }
  return { unused: unused.sort((one, other) => other.unused - one.unused), left };
}

function inUse(
  name: string,
  { busy, withVolumes, withClaims, active, after }: NamespacesInput,
  youngestPod: number,
): string | undefined {
  if (busy.has(name)) return 'a pod runs in it';
  if (youngestPod < after) return 'a recent pod is in it';
  if (active?.has(name) === true) return 'Prometheus recorded a pod in it recently';
  if (withVolumes.has(name))
    return 'it contains a PersistentVolumeClaim made from volume_claims, which Berth never deletes';
  return withClaims.has(name)
    ? 'it contains PersistentVolumeClaims (allow with --delete-claims)'
    : undefined;
}
