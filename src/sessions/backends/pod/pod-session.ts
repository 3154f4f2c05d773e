import type { V1Pod } from '@kubernetes/client-node';
import type { KubeJson, LiveObject } from '../../../kube/objects/kube-object.ts';
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
    cluster: place.cluster,
    namespace,
    name,
    uid,
    user: owner.user,
    profileLabel: labels[podLabels.profile],
    status: isEnding ? 'Terminating' : (status?.phase ?? 'Unknown'),
    opened: Date.parse(status?.startTime ?? metadata.creationTimestamp ?? '') / 1000 || 0,
    loginNodes: owner.openNodes.filter((node) => host === undefined || node === host),
    clusterNode: spec?.nodeName,
    usage: place.usages.get(`${namespace}/${name}`),
  };
}

/** What a pod uses now, as `kubectl top pod` shows it. */
export interface PodUsage {
  /** Processor cores. */
  readonly cpuCores: number;
  readonly memoryBytes: number;
}
