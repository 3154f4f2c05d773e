import type { JsonObject } from '../config/settings.ts';

/** A Kubernetes object as it is sent: only the fields that Berth decides. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    /** Where present, the object is changed only if it is still this very version. */
    readonly resourceVersion?: string;
  };
  readonly [field: string]: unknown;
}

export type Kind =
  | 'Namespace'
  | 'NetworkPolicy'
  | 'Pod'
  | 'RoleBinding'
  | 'Secret'
  | 'ServiceAccount'
  | 'ResourceQuota'
  | 'LimitRange';

const resources: Record<Kind, { readonly root: string; readonly plural: string }> = {
  Namespace: { root: '/api/v1', plural: 'namespaces' },
  Pod: { root: '/api/v1', plural: 'pods' },
  Secret: { root: '/api/v1', plural: 'secrets' },
  ServiceAccount: { root: '/api/v1', plural: 'serviceaccounts' },
  ResourceQuota: { root: '/api/v1', plural: 'resourcequotas' },
  LimitRange: { root: '/api/v1', plural: 'limitranges' },
  NetworkPolicy: { root: '/apis/networking.k8s.io/v1', plural: 'networkpolicies' },
  RoleBinding: { root: '/apis/rbac.authorization.k8s.io/v1', plural: 'rolebindings' },
};

/** The URL path of all objects of a kind, in a namespace where the kind lives in one. */
export function collectionPath(kind: Kind, namespace?: string): string {
  const { root, plural } = resources[kind];
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

/** The URL path of one object. */
export function objectPath({ kind, metadata }: KubeObject): string {
  return `${collectionPath(kind, metadata.namespace)}/${encodeURIComponent(metadata.name)}`;
}

/** `Secret u-alice/registry`, as a person names it. */
export function describe({ kind, metadata }: KubeObject): string {
  const place = metadata.namespace === undefined ? '' : `${metadata.namespace}/`;
  return `${kind} ${place}${metadata.name}`;
}

/** A Kubernetes object as the API server answers with it. */
export interface LiveObject extends JsonObject {
  readonly metadata: JsonObject & {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    /** RFC 3339, by the API server's clock. */
    readonly creationTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly finalizers?: readonly string[];
  };
}
