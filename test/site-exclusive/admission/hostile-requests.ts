import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { hostileBeside } from './hostile-beside.ts';
import { hostileGrants } from './hostile-grants.ts';
import { absent, annotations, type HostileRequest, patched } from './hostile.ts';
import { noSuchNode, testUser } from '../../rig/admission/test-user.ts';

const strategic = 'application/strategic-merge-patch+json';
const json = 'application/json-patch+json';
const lifetime = 'metadata.annotations[pod.kubernetes.io/lifetime]';

/** The pod that is there already; it has a directory of the site that is only to be read. */
export const victim: Manifest = {
  ...testUser.pod('victim'),
  spec: {
    nodeSelector: noSuchNode,
    containers: [
      {
        name: 'main',
        image: testUser.image,
        volumeMounts: [{ name: 'apps', mountPath: '/apps', readOnly: true }],
      },
    ],
    volumes: [{ name: 'apps', hostPath: { path: '/apps' } }],
  },
};

const changed = (fields: object): ReturnType<typeof patched> => patched('pods/victim', fields);
const debugging = (
  fields: object,
): Omit<HostileRequest, 'way' | 'policy' | 'field' | 'wanted'> => ({
  method: 'PATCH',
  path: 'pods/victim/ephemeralcontainers',
  contentType: strategic,
  body: { spec: { ephemeralContainers: [{ name: 'debugger', image: testUser.image, ...fields }] } },
});
const changes: readonly HostileRequest[] = [
  {
    way: 'another image for a pod that runs',
    policy: 'pods',
    field: 'image evil.example.net/x',
    wanted: 'registry.example.org',
    ...changed({ spec: { containers: [{ name: 'main', image: 'evil.example.net/x' }] } }),
    contentType: strategic,
  },
  {
    way: 'a toleration of everything for a pod that waits',
    policy: 'pods',
    field: 'spec.tolerations has the key (all)',
    wanted: 'gpu',
    ...changed([{ op: 'add', path: '/spec/tolerations/-', value: { operator: 'Exists' } }]),
    contentType: json,
  },
  {
    way: 'a longer lifetime for a pod that runs',
    policy: 'pods',
    field: `${lifetime} is 1000h`,
    wanted: 'at most 24h',
    ...changed(annotations({ 'pod.kubernetes.io/lifetime': '1000h' })),
  },
  {
    way: 'no lifetime for a pod that runs',
    policy: 'pods',
    field: `${lifetime} must be set`,
    wanted: 'at most 24h',
    ...changed(annotations({ 'pod.kubernetes.io/lifetime': null })),
  },
  {
    way: 'a deadline instead, which the reaper does not see',
    policy: 'pods',
    field: `${lifetime} must be set`,
    wanted: 'at most 24h',
    ...changed({
      metadata: { annotations: { 'pod.kubernetes.io/lifetime': null } },
      spec: { activeDeadlineSeconds: 3600 },
    }),
  },
  {
    way: 'a deadline over the limit for a pod that runs',
    policy: 'pods',
    field: 'spec.activeDeadlineSeconds',
    wanted: 'must be at most 24h',
    ...changed({ spec: { activeDeadlineSeconds: 864_000 } }),
  },
  {
    way: 'a device by CDI for a pod that runs',
    policy: 'pods',
    field: 'metadata.annotations cdi.k8s.io/gpu',
    wanted: absent,
    ...changed(annotations({ 'cdi.k8s.io/gpu': 'nvidia.com/gpu=all' })),
  },
  {
    way: 'no lifetime by pods/status',
    policy: 'pods',
    field: `${lifetime} must be set`,
    wanted: 'at most 24h',
    ...changed(annotations({ 'pod.kubernetes.io/lifetime': null })),
    path: 'pods/victim/status',
  },
  {
    way: 'a device by CDI by pods/status',
    policy: 'pods',
    field: 'metadata.annotations cdi.k8s.io/gpu',
    wanted: absent,
    ...changed(annotations({ 'cdi.k8s.io/gpu': 'nvidia.com/gpu=all' })),
    path: 'pods/victim/status',
  },
  {
    way: 'a pod of root by server-side apply',
    policy: 'pods',
    field: 'spec.securityContext.fsGroup',
    wanted: 'must be 5002',
    method: 'PATCH',
    path: 'pods/applied?fieldManager=mallory',
    contentType: 'application/apply-patch+yaml',
    body: {
      ...testUser.pod('applied'),
      spec: { ...testUser.pod().spec, securityContext: { fsGroup: 0 } },
    },
  },
  {
    way: 'a node by pods/binding',
    policy: 'pod-binding',
    field: 'target',
    wanted: 'the scheduler',
    method: 'POST',
    path: 'pods/victim/binding',
    body: {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'victim' },
      target: { kind: 'Node', name: 'control-plane' },
    },
  },
  {
    way: 'a node by bindings',
    policy: 'pod-binding',
    field: 'target',
    wanted: 'the scheduler',
    method: 'POST',
    path: 'bindings',
    body: {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'victim' },
      target: { kind: 'Node', name: 'control-plane' },
    },
  },
  {
    way: 'a token that never ends',
    policy: 'account-tokens',
    field: 'type',
    wanted: 'must not be kubernetes.io/service-account-token',
    method: 'POST',
    path: 'secrets',
    body: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'forever',
        annotations: { 'kubernetes.io/service-account.name': 'pipeline' },
      },
      type: 'kubernetes.io/service-account-token',
    },
  },
];

type Debugger = readonly [
  way: string,
  policy: string,
  field: string,
  wanted: string,
  fields: object,
];

const debuggers: readonly Debugger[] = [
  [
    'another UID in an ephemeral container',
    'pods',
    'securityContext.runAsUser of container debugger',
    'must be 5001',
    { securityContext: { runAsUser: 5003 } },
  ],
  [
    'another GID in an ephemeral container',
    'pods',
    'securityContext.runAsGroup of container debugger',
    'must be 5002',
    { securityContext: { runAsGroup: 0 } },
  ],
  [
    'a privileged ephemeral container',
    'pods',
    'securityContext.privileged of container debugger',
    'must be false or absent',
    { securityContext: { privileged: true } },
  ],
  [
    'kubectl debug with ptrace',
    'pods',
    'securityContext.capabilities.add of container debugger',
    absent,
    { securityContext: { capabilities: { add: ['SYS_PTRACE'] } } },
  ],
  [
    'no seccomp in an ephemeral container',
    'pods',
    'securityContext.seccompProfile.type of container debugger',
    'must be RuntimeDefault',
    { securityContext: { seccompProfile: { type: 'Unconfined' } } },
  ],
  [
    'another registry in an ephemeral container',
    'pods',
    'image evil.example.net/x',
    'registry.example.org',
    { image: 'evil.example.net/x' },
  ],
  [
    'all GPUs in an ephemeral container',
    'pods',
    'env of container debugger',
    'must not request devices from the container runtime',
    { env: [{ name: 'NVIDIA_VISIBLE_DEVICES', value: 'all' }] },
  ],
  [
    'writing to a directory that is to be read, from an ephemeral container',
    'pods',
    'volumeMounts.readOnly of container debugger',
    'must be true for apps',
    { volumeMounts: [{ name: 'apps', mountPath: '/apps' }] },
  ],
];

/** All ways on the pod that is there, and beside it. */
export const hostileChanges: readonly HostileRequest[] = [
  ...changes,
  ...hostileBeside,
  ...hostileGrants,
  ...debuggers.map(([way, policy, field, wanted, fields]) => ({
    way,
    policy,
    field,
    wanted,
    ...debugging(fields),
  })),
];
