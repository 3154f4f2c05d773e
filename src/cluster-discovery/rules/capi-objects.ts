import { mappingOrEmpty } from '../../mapping.ts';

/** A Cluster of Cluster API, as far as a portal needs it. */
export interface CapiCluster {
  readonly namespace: string;
  readonly name: string;
  /** Whether it is being deleted. */
  readonly deleting: boolean;
  /** What makes its API servers, such as a KubeadmControlPlane. */
  readonly controlPlane?: ObjectReference;
}

/** A reference to an object, in the ways of v1beta1 (apiVersion) and v1beta2 (apiGroup). */
export interface ObjectReference {
  readonly group: string;
  /** Undefined with v1beta2: the server's preferred version is meant. */
  readonly version?: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Reads a Cluster, v1beta1 or v1beta2. @returns undefined if it is not one */
export function capiClusterOf(object: unknown): CapiCluster | undefined {
  const { metadata, spec } = mappingOrEmpty(object);
  const { name, namespace, deletionTimestamp } = mappingOrEmpty(metadata);
  if (typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  const controlPlane = referenceOf(mappingOrEmpty(spec).controlPlaneRef, namespace);
  return {
    ...{ name, namespace, deleting: deletionTimestamp !== undefined },
    ...(controlPlane === undefined ? {} : { controlPlane }),
  };
}

function referenceOf(value: unknown, namespace: string): ObjectReference | undefined {
  const { apiVersion, apiGroup, kind, name } = mappingOrEmpty(value);
  if (typeof kind !== 'string' || typeof name !== 'string') return undefined;
  if (typeof apiGroup === 'string') return { group: apiGroup, kind, namespace, name };
  const [group, version] = typeof apiVersion === 'string' ? apiVersion.split('/') : [];
  if (group === undefined || version === undefined) return undefined;
  return { group, version, kind, namespace, name };
}

/** A value as a list; an empty one if it is not one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
