import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import {
  absent,
  annotated,
  falseOrAbsent,
  type HostileObject,
  rowsOf,
  podWith,
  type Row,
} from './hostile.ts';
import { claim } from './hostile-claims.ts';
import { keepingOff } from './hostile-placement.ts';

/** What a controller would make its pods of. */
function template(pod: Manifest): object {
  const { annotations = {} } = pod.metadata;
  return { metadata: { labels: { app: 'x' }, annotations }, spec: pod.spec };
}

function workload(
  apiVersion: string,
  kind: string,
  pod: Manifest,
  spec: Readonly<Record<string, unknown>> = {},
): Manifest {
  return {
    apiVersion,
    kind,
    metadata: { name: 'hostile' },
    spec: { selector: { matchLabels: { app: 'x' } }, ...spec, template: template(pod) },
  };
}

const never = { restartPolicy: 'Never' };
const job = (pod: Manifest): object => ({ template: template(pod) });

const rows: readonly Row[] = [
  [
    'a Deployment of root',
    'spec.securityContext.runAsUser',
    'must be 5001',
    workload('apps/v1', 'Deployment', podWith({ securityContext: { runAsUser: 0 } })),
  ],
  [
    'a ReplicaSet with a foreign group',
    'spec.securityContext.supplementalGroups has 6500',
    '5002, 6000, 6001',
    workload('apps/v1', 'ReplicaSet', podWith({ securityContext: { supplementalGroups: [6500] } })),
  ],
  [
    'a StatefulSet with the root of the node',
    'hostPath.path of volume v',
    '/fs/ess',
    workload(
      'apps/v1',
      'StatefulSet',
      podWith({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
      { serviceName: 'x' },
    ),
  ],
  [
    'a DaemonSet on the network of the nodes',
    'spec.hostNetwork',
    falseOrAbsent,
    workload('apps/v1', 'DaemonSet', podWith({ hostNetwork: true })),
  ],
  [
    'a Job that is privileged',
    'securityContext.privileged of container main',
    falseOrAbsent,
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'hostile' },
      spec: job(podWith(never, { securityContext: { privileged: true } })),
    },
  ],
  [
    'a CronJob with an image from elsewhere',
    'image evil.example.net/x',
    'registry.example.org',
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'hostile' },
      spec: {
        schedule: '* * * * *',
        jobTemplate: { spec: job(podWith(never, { image: 'evil.example.net/x' })) },
      },
    },
  ],
  [
    'a ReplicationController with a capability',
    'securityContext.capabilities.add of container main',
    absent,
    {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: 'hostile' },
      spec: {
        selector: { app: 'x' },
        template: template(podWith({}, { securityContext: { capabilities: { add: ['SETUID'] } } })),
      },
    },
  ],
  [
    'a PodTemplate for a node of its choice',
    'spec.nodeName',
    absent,
    {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 'hostile' },
      template: template(podWith({ nodeName: 'control-plane' })),
    },
  ],
  [
    'a Deployment with a network of its choice',
    'metadata.annotations k8s.v1.cni.cncf.io/networks',
    absent,
    workload('apps/v1', 'Deployment', annotated({ 'k8s.v1.cni.cncf.io/networks': 'storage' })),
  ],
  [
    'a Deployment whose pods take for ever to end',
    'spec.terminationGracePeriodSeconds',
    'must be at most 2m',
    workload('apps/v1', 'Deployment', podWith({ terminationGracePeriodSeconds: 1_000_000 })),
  ],
  [
    'a Deployment with all GPUs',
    'env of container main',
    'must not request devices from the container runtime',
    workload(
      'apps/v1',
      'Deployment',
      podWith({}, { env: [{ name: 'NVIDIA_VISIBLE_DEVICES', value: 'all' }] }),
    ),
  ],
];

/** Every workload with an account whose token would make the next pod. */
const chained: readonly Row[] = [
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'].map((kind) =>
    workload('apps/v1', kind, podWith({ serviceAccountName: 'berth-session' })),
  ),
  workload('batch/v1', 'Job', podWith({ ...never, serviceAccount: 'berth-session' }), {
    selector: undefined,
  }),
].map((object): Row => [
  `a ${object.kind} with the account of sessions`,
  'spec.serviceAccount',
  'allows: default',
  object,
]);

const plain: readonly Row[] = [
  [
    'a pod on every node, also where it is cordoned',
    'kind must not be DaemonSet',
    'its pods tolerate node.kubernetes.io/unschedulable',
    workload('apps/v1', 'DaemonSet', podWith({})),
  ],
  [
    'a Deployment for nodes without the pods of others',
    'spec.affinity.podAntiAffinity',
    'must not have namespaces or namespaceSelector where it is required',
    workload('apps/v1', 'Deployment', keepingOff({ namespaceSelector: {} })),
  ],
  [
    'a Deployment for nodes that are cordoned',
    'spec.tolerations has the key node.kubernetes.io/unschedulable',
    'gpu',
    workload(
      'apps/v1',
      'Deployment',
      podWith({ tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] }),
    ),
  ],
];

const claiming = (metadata: object, spec: Readonly<Record<string, unknown>>): Manifest =>
  workload('apps/v1', 'StatefulSet', podWith({}), {
    serviceName: 'x',
    volumeClaimTemplates: [{ metadata: { name: 'data', ...metadata }, spec: claim(spec) }],
  });
const claims: readonly Row[] = [
  [
    "a StatefulSet with an admin's volume",
    'spec.volumeName of volumeClaimTemplates data',
    'must be absent: users get a new volume, not an existing one',
    claiming({}, { volumeName: 'the-root-of-the-node' }),
  ],
  [
    'a StatefulSet with a volume of a class that is not for users',
    'spec.storageClassName of volumeClaimTemplates data',
    'must be one of the values that this site allows: scratch',
    claiming({}, { storageClassName: 'archive' }),
  ],
  [
    'a StatefulSet with a directory of its choice',
    'metadata.annotations of volumeClaimTemplates data',
    'must only have keys that this site allows',
    claiming({ annotations: { 'nfs.io/storage-path': '../user-bob' } }, {}),
  ],
  [
    'a StatefulSet whose claims keep their namespace from the reaper',
    'metadata.labels of volumeClaimTemplates data',
    'must not have berth.dev/user-volume',
    claiming({ labels: { 'berth.dev/user-volume': 'true' } }, {}),
  ],
];

/** Workloads whose pods or claims would be refused. */
export const hostileTemplates: readonly HostileObject[] = rowsOf('pod-templates', [
  ...rows,
  ...claims,
  ...chained,
  ...plain,
]);
