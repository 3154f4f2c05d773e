import * as z from 'zod/mini';
import { matching, optionalKeys, passing, wholeNumber } from '../schema-parts.ts';
import { isExtendedResource, labelValue, objectName, qualifiedName } from '../object-name.ts';
import { pathProblem } from './mount-path.ts';

const name = matching(objectName, 'must be a valid Kubernetes name');
const label = matching(labelValue, 'must be a valid label value');
const key = matching(
  qualifiedName,
  'must be the key of a label or a taint, such as example.org/gpu',
);
const resource = z
  .string()
  .check(
    z.regex(/^[^/]+\/[^/]+$/, 'must be a resource name such as nvidia.com/gpu'),
    z.refine(isExtendedResource, 'must be a resource name such as nvidia.com/gpu'),
  );
const path = passing(
  (one) => pathProblem(one) === undefined,
  'must be an absolute path without `..`',
);

const count = wholeNumber(1, 1_000_000);

const toleration = optionalKeys({
  key,
  operator: z.enum(['Exists', 'Equal']),
  value: label,
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
  seconds: wholeNumber(0, 31_536_000, 'must be 0 or more', 'must be 31536000 (a year) or less'),
});

const volume = z.union(
  [
    z.strictObject({ claim: name, read_only: z.optional(z.boolean()) }),
    z.strictObject({
      nfs: z.strictObject({
        server: matching(/^[^\s,\p{Cc}]+$/u, 'must be a host'),
        path,
      }),
      read_only: z.optional(z.boolean()),
    }),
  ],
  { error: 'must be {claim: NAME} or {nfs: {server: HOST, path: PATH}}' },
);

/** The key `pod` of a profile. */
export const podSchema = optionalKeys({
  cluster: z.string(),
  node_selector: z.record(key, label),
  tolerations: z.array(toleration),
  extended: z.record(resource, count),
  volumes: z.record(path, volume),
  pull_secret: name,
  priority_class: name,
  runtime_class: name,
  supplemental_groups_policy: z.enum(['Strict', 'Merge']),
  forwards: z.boolean(),
});

/** Settings that only pods have, named after the fields of a pod. */
export interface PodFields {
  /** OnDemand's name of the cluster; absent if the site has only one. */
  readonly cluster?: string;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly z.output<typeof toleration>[];
  /** Extended resources such as GPUs, by name. */
  readonly extended: Readonly<Record<string, number>>;
  /** By path inside the pod. */
  readonly volumes: Readonly<Record<string, PodVolume>>;
  /** Used in addition to those of the ServiceAccount. */
  readonly pullSecret?: string;
  readonly priorityClass?: string;
  readonly runtimeClass?: string;
  /** `Merge` lets /etc/group of the image add groups; only for nodes that do not support `Strict`. */
  readonly supplementalGroupsPolicy: 'Strict' | 'Merge';
  /** Whether sshd's forwards lead into the pod; its image needs Python for that. */
  readonly forwards: boolean;
}

export type PodVolume = { readonly readOnly: boolean } & (
  { readonly claim: string } | { readonly nfs: { readonly server: string; readonly path: string } }
);

export function podFields(document: z.output<typeof podSchema> = {}): PodFields {
  const { cluster, pull_secret, priority_class, runtime_class } = document;
  return {
    cluster,
    nodeSelector: document.node_selector ?? {},
    tolerations: document.tolerations ?? [],
    extended: document.extended ?? {},
    forwards: document.forwards ?? true,
    supplementalGroupsPolicy: document.supplemental_groups_policy ?? 'Strict',
    volumes: Object.fromEntries(
      Object.entries(document.volumes ?? {}).map(([target, { read_only, ...source }]) => [
        target,
        { ...source, readOnly: read_only ?? false },
      ]),
    ),
    pullSecret: pull_secret,
    priorityClass: priority_class,
    runtimeClass: runtime_class,
  };
}
