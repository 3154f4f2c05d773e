import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { testUser } from '../../rig/admission/test-user.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A known way to more than one's own, as an object that a user creates. */
export interface HostileObject {
  readonly way: string;
  /** The policy that refuses it, without the prefix. */
  readonly policy: string;
  /** What its message begins with: the field. */
  readonly field: string;
  /** What else the message says: the value that is wanted. */
  readonly wanted: string;
  readonly object: Manifest;
  /** The first version of Kubernetes that knows the field; older ones drop it. */
  readonly since?: string;
}

/** Whether this Kubernetes does not know the field, and either drops it or has no such kind. */
export const isUnknown = (
  { since = '1.33' }: { readonly since?: string },
  minor: string,
): boolean => minor.localeCompare(since, undefined, { numeric: true }) < 0;

/** A way that is no new pod: a change, a subresource, another kind, a namespace. */
export interface HostileRequest {
  readonly way: string;
  readonly policy: string;
  readonly field: string;
  readonly wanted: string;
  readonly method: 'DELETE' | 'PATCH' | 'POST' | 'PUT';
  /** Below the namespace, `pods/victim`; absolute where it begins with a slash, with `{namespace}`. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
  readonly since?: string;
}

/** The same, for tables of one policy. */
export type Row = readonly [way: string, field: string, wanted: string, object: Manifest];

export function rowsOf(policy: string, rows: readonly Row[], since?: string): HostileObject[] {
  const version = since === undefined ? {} : { since };
  return rows.map(([way, field, wanted, object]) => ({
    way,
    policy,
    field,
    wanted,
    object,
    ...version,
  }));
}

/** A pod that is well but for this. */
export function podWith(spec: Fields, container: Fields = {}, metadata: Fields = {}): Manifest {
  const pod = testUser.pod('hostile');
  const [main] = pod.spec.containers;
  return {
    ...pod,
    metadata: { ...pod.metadata, ...metadata },
    spec: { ...pod.spec, containers: [{ ...main, ...container }], ...spec },
  };
}

/** A second container of another kind, called `second`. */
export const secondContainer = (kind: string, fields: Fields): Fields => ({
  [kind]: [{ name: 'second', image: testUser.image, ...fields }],
});

export const sidecar = (securityContext: Fields): Fields =>
  secondContainer('initContainers', { restartPolicy: 'Always', securityContext });

/** A pod with this volume, called `v`, mounted. */
export const mounting = (volume: Fields, mount: Fields = {}): Manifest =>
  podWith(
    { volumes: [{ name: 'v', ...volume }] },
    { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] },
  );

export const annotated = (annotations: Readonly<Record<string, string>>): Manifest =>
  podWith({}, {}, { annotations });

export const falseOrAbsent = 'must be false or absent';
export const absent = 'must be absent';

/** A merge patch of what is there. */
export const patched = (
  path: string,
  fields: object,
): Pick<HostileRequest, 'method' | 'path'> & { readonly body: object } => ({
  method: 'PATCH',
  path,
  body: fields,
});

export const annotations = (values: Readonly<Record<string, string | null>>): object => ({
  metadata: { annotations: values },
});
