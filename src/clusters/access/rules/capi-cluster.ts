import { isObjectName } from '../../../config/schema/object-name.ts';
import { mappingOrEmpty } from '../../../system/text/mapping.ts';

/** The API group of KubeadmControlPlanes. */
export const controlPlaneGroup = 'controlplane.cluster.x-k8s.io';

/** A Cluster of Cluster API, as far as a portal needs it. */
export interface CapiCluster {
  readonly namespace: string;
  readonly name: string;
  /** Whether it is being deleted. */
  readonly deleting: boolean;
  /** What makes its API servers, such as a KubeadmControlPlane. */
  readonly controlPlane?: ObjectReference;
}

/** A reference to an object, in the ways of v1beta1 (apiVersion) and v1beta2 (apiGroup). Its parts are fit for a path. */
export interface ObjectReference {
  /** Undefined with v1beta2: the server's preferred version is meant. */
  readonly version?: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Reads a Cluster, v1beta1 or v1beta2. Its names become paths. @returns undefined if it is not one */
export function capiClusterOf(object: unknown): CapiCluster | undefined {
  const { metadata, spec } = mappingOrEmpty(object);
  const { name, namespace, deletionTimestamp } = mappingOrEmpty(metadata);
  if (!isName(name) || !isName(namespace)) return undefined;
  const controlPlane = referenceOf(mappingOrEmpty(spec).controlPlaneRef, namespace);
  return {
    name,
    namespace,
    deleting: deletionTimestamp !== undefined,
    controlPlane,
  };
}

/** @returns undefined if it is none, or of another API group: anybody can define a kind of the same name */
function referenceOf(value: unknown, namespace: string): ObjectReference | undefined {
  const { apiVersion, apiGroup, kind, name } = mappingOrEmpty(value);
  if (typeof kind !== 'string' || !isName(name)) return undefined;
  if (typeof apiGroup === 'string')
    return apiGroup === controlPlaneGroup ? { kind, namespace, name } : undefined;
  const [group, version = ''] = typeof apiVersion === 'string' ? apiVersion.split('/') : [];
  if (group !== controlPlaneGroup || !/^v\d+((alpha|beta)\d+)?$/.test(version)) return undefined;
  return { version, kind, namespace, name };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && isObjectName(value);
}
