import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1LimitRange,
  V1Namespace,
  V1NetworkPolicy,
  V1PersistentVolumeClaim,
  V1ObjectMeta,
  V1Pod,
  V1ResourceQuota,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
} from '@kubernetes/client-node';

interface Kinds {
  ClusterRole: V1ClusterRole;
  ClusterRoleBinding: V1ClusterRoleBinding;
  Namespace: V1Namespace;
  NetworkPolicy: V1NetworkPolicy;
  PersistentVolumeClaim: V1PersistentVolumeClaim;
  Pod: V1Pod;
  RoleBinding: V1RoleBinding;
  Secret: V1Secret;
  ServiceAccount: V1ServiceAccount;
  ResourceQuota: V1ResourceQuota;
  LimitRange: V1LimitRange;
}

/** The kinds that Berth makes. */
export type Kind = keyof Kinds;

/** `metadata` of an object that has a name. */
export type ObjectMeta = KubeJson<V1ObjectMeta> & { readonly name: string };

/** A Kubernetes object as it is sent: only the fields that Berth decides. */
export type KubeObject<K extends Kind = Kind> = {
  readonly [One in K]: KubeJson<Omit<Kinds[One], 'apiVersion' | 'kind' | 'metadata'>> & {
    readonly apiVersion: string;
    readonly kind: One;
    /** With a `resourceVersion`, the object is changed only if it is still that version. */
    readonly metadata: ObjectMeta;
  };
}[K];

/** Kind, name and namespace of an object. */
export interface ObjectName {
  readonly apiVersion?: string;
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
}

const resources: Record<Kind, { readonly root: string; readonly plural: string }> = {
  Namespace: { root: '/api/v1', plural: 'namespaces' },
  PersistentVolumeClaim: { root: '/api/v1', plural: 'persistentvolumeclaims' },
  Pod: { root: '/api/v1', plural: 'pods' },
  Secret: { root: '/api/v1', plural: 'secrets' },
  ServiceAccount: { root: '/api/v1', plural: 'serviceaccounts' },
  ResourceQuota: { root: '/api/v1', plural: 'resourcequotas' },
  LimitRange: { root: '/api/v1', plural: 'limitranges' },
  NetworkPolicy: { root: '/apis/networking.k8s.io/v1', plural: 'networkpolicies' },
  ClusterRole: { root: '/apis/rbac.authorization.k8s.io/v1', plural: 'clusterroles' },
  ClusterRoleBinding: { root: '/apis/rbac.authorization.k8s.io/v1', plural: 'clusterrolebindings' },
  RoleBinding: { root: '/apis/rbac.authorization.k8s.io/v1', plural: 'rolebindings' },
};

/** The URL path of a collection; with the namespace for a namespaced kind. */
export function collectionPath(kind: Kind, namespace?: string): string {
  const { root, plural } = resources[kind];
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

/** The URL path of one object. */
export function objectPath({ kind, metadata }: ObjectName): string {
  return `${collectionPath(kind, metadata.namespace)}/${encodeURIComponent(metadata.name)}`;
}

/** `Secret u-alice/registry`, for messages. */
export function describeObject({ kind, metadata }: ObjectName): string {
  const place = metadata.namespace === undefined ? '' : `${metadata.namespace}/`;
  return `${kind} ${place}${metadata.name}`;
}

/** A Kubernetes object of any kind as the API server answers with it. */
export interface LiveObject {
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/**
 * A type of `@kubernetes/client-node` as the API server sends and takes it: the library's classes hold
 * what its own deserializer makes of JSON, with `Date` for a time (RFC 3339) and `_from` for `from`.
 */
export type KubeJson<T> = T extends Date
  ? string
  : T extends readonly (infer Element)[]
    ? readonly KubeJson<Element>[]
    : T extends object
      ? { readonly [K in keyof T as K extends `_${infer Name}` ? Name : K]: KubeJson<T[K]> }
      : T;

/** A Kubernetes object of any kind, as it is written into a file. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly data?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}
