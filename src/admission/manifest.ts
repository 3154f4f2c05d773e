import type { ObjectMeta } from '../kube/objects/kube-object.ts';

/** A Kubernetes object of any kind, as it is written into a file. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}
