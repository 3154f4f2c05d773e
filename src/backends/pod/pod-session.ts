import type { PodMetric, V1Pod } from '@kubernetes/client-node';
import { parseQuantityNano } from '../../config/schema/parse-quantity.ts';
import type { KubeJson, LiveObject } from '../../kube/objects/kube-object.ts';
import { annotations as names } from '../../kube/objects/well-known-names.ts';
import { openNodes } from './objects/node-claim.ts';
import { podLabels } from './objects/pod-object.ts';

/** A pod of a user's SSH sessions, on one of the clusters. */
export interface PodSession {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The owner of the namespace, which users cannot change; undefined if it has none. */
  readonly user: string | undefined;
  /** The pod's label. Users can write the labels of their pods. */
  readonly profileLabel: string | undefined;
  /** `Running`, `Pending`, …, or `Terminating`. */
  readonly status: string;
  /** Seconds since the epoch. */
  readonly opened: number;
  /** Login nodes with connections of the user that may use it, by `hostLabel`. */
  readonly loginNodes: readonly string[];
  /** The node of the cluster. */
  readonly clusterNode: string | undefined;
  /** undefined if the cluster does not measure it. */
  readonly usage: PodUsage | undefined;
}

/** What the user's namespace says. */
export interface PodOwner {
  readonly user: string | undefined;
  readonly openNodes: readonly string[];
}

/** The owners by namespace. @param now milliseconds since the epoch */
export function podOwners(
  namespaces: readonly LiveObject[],
  now: number,
): ReadonlyMap<string, PodOwner> {
  return new Map(
    namespaces.map(({ metadata: { name, annotations = {} } }) => [
      name,
      { user: annotations[names.owner], openNodes: openNodes(annotations, now) },
    ]),
  );
}

/**
 * A pod with Berth's label. Its labels are the user's to write, so they decide neither whose it is nor which login node
 * uses it.
 *
 * @returns undefined if its namespace is no user's
 */
export function podSession(
  pod: LiveObject,
  place: {
    readonly cluster: string;
    readonly owners: ReadonlyMap<string, PodOwner>;
    readonly usages: ReadonlyMap<string, PodUsage>;
  },
): PodSession | undefined {
  const { name, namespace = '', uid = '', labels = {}, ...metadata } = pod.metadata;
  const owner = place.owners.get(namespace);
  if (owner === undefined) return undefined;
  const { spec, status } = pod as Pick<KubeJson<V1Pod>, 'spec' | 'status'>;
  const isEnding = metadata.deletionTimestamp !== undefined;
  const host = labels[podLabels.loginHost];
  return {
    ...{ cluster: place.cluster, namespace, name, uid, user: owner.user },
    profileLabel: labels[podLabels.profile],
    status: isEnding ? 'Terminating' : (status?.phase ?? 'Unknown'),
    opened: Date.parse(status?.startTime ?? metadata.creationTimestamp ?? '') / 1000 || 0,
    loginNodes: owner.openNodes.filter((node) => host === undefined || node === host),
    clusterNode: spec?.nodeName,
    usage: place.usages.get(`${namespace}/${name}`),
  };
}

/** Whether a session on this login node runs in the pod. */
export function isInPod(
  session: { readonly backend: string | undefined } & Partial<Pick<PodSession, 'name' | 'user'>>,
  pod: PodSession,
): boolean {
  return session.backend === 'pod' && session.name === pod.name && session.user === pod.user;
}

/** What a pod uses now, as `kubectl top pod` shows it. */
export interface PodUsage {
  /** Processor cores. */
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/**
 * The usage in a PodMetrics object of metrics.k8s.io/v1beta1: the sum of its containers.
 *
 * @returns undefined if it is not one, or has no container yet
 */
export function podUsage(metric: unknown): PodUsage | undefined {
  const { containers } = (metric ?? {}) as Partial<KubeJson<PodMetric>>;
  if (!Array.isArray(containers) || containers.length === 0) return undefined;
  let [cpu, memory] = [0n, 0n];
  for (const one of containers as readonly Partial<KubeJson<PodMetric>['containers'][number]>[]) {
    const amounts = [parseQuantityNano(one.usage?.cpu), parseQuantityNano(one.usage?.memory)];
    const [ownCpu, ownMemory] = amounts;
    if (ownCpu === undefined || ownMemory === undefined) return undefined;
    cpu += ownCpu;
    memory += ownMemory;
  }
  return { cpuCores: Number(cpu) / 1e9, memoryBytes: Math.round(Number(memory) / 1e9) };
}
