import type { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { type HostileObject, type HostileRequest, rowsOf, podWith, type Row } from './hostile.ts';
import { noSuchNode, testUser, type PlainPod } from '../../rig/admission/test-user.ts';

const probe = (name: string): Row => [
  `an end by its ${name} that takes for ever`,
  `${name}.terminationGracePeriodSeconds of container main`,
  'must be at most 2m',
  podWith(
    {},
    { [name]: { exec: { command: ['false'] }, terminationGracePeriodSeconds: 4_000_000_000 } },
  ),
];

const graces: readonly Row[] = [
  [
    'an end that takes longer than the site allows',
    'spec.terminationGracePeriodSeconds',
    'must be at most 2m',
    podWith({ terminationGracePeriodSeconds: 121 }),
  ],
  [
    'an end that takes for ever',
    'spec.terminationGracePeriodSeconds',
    'must be at most 2m',
    // The largest that survives JSON's numbers, and more seconds than any duration of CEL's has.
    podWith({ terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER }),
  ],
  probe('livenessProbe'),
  probe('startupProbe'),
];

/** Pods that would outlive their lifetime after their deletion. */
export const hostileEndings: readonly HostileObject[] = rowsOf('pods', graces);

/** A pod to be bound to a node: one that is on none is gone at once, whatever its deletion says. */
export const scheduledPod: PlainPod = {
  ...testUser.pod('placed'),
  spec: { ...testUser.pod().spec, nodeSelector: noSuchNode },
};

/** Beside a body, parameters of a deletion count for nothing. */
const long = {
  apiVersion: 'v1',
  kind: 'DeleteOptions',
  gracePeriodSeconds: 1_000_000_000,
  dryRun: ['All'],
};
const refusal = {
  policy: 'pod-deletion',
  field: 'gracePeriodSeconds',
  wanted: 'must be at most 2m',
} as const;

/** Deletions after which a pod would run on for years. */
export const hostileDeletions: readonly HostileRequest[] = [
  {
    way: 'an end that takes for ever by its deletion',
    ...refusal,
    ...{ method: 'DELETE', path: 'pods/placed', body: long },
  },
  {
    way: 'an end that takes for ever by a parameter of its deletion',
    ...refusal,
    ...{ method: 'DELETE', path: 'pods/placed?gracePeriodSeconds=1000000000' },
  },
  {
    way: 'an end that takes for ever by the deletion of all pods',
    ...refusal,
    ...{ method: 'DELETE', path: 'pods', body: long },
  },
  {
    way: 'an end that takes for ever by its eviction',
    ...refusal,
    ...{ method: 'POST', path: 'pods/placed/eviction' },
    body: {
      ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'placed' } },
      deleteOptions: long,
    },
  },
];

/** Says where a pod runs, as a scheduler does: on a node that there is not. */
export async function bind({ cluster, namespace }: AdmissionSite, name: string): Promise<void> {
  // Kubernetes deletes pods of a node that it has missed for 40 s, so each namespace has its own.
  const target = { kind: 'Node', name: `no-node-of-${namespace}` };
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
  await cluster.kubectl(['create', '--raw', path, '-f', '-'], JSON.stringify(binding));
}
