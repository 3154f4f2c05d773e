import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { claim } from './hostile-claims.ts';
import {
  mounting,
  podWith,
  secondContainer,
  rowsOf,
  type HostileObject,
  type Row,
} from './hostile.ts';

const hostPath = (
  path: string,
  mount: Record<string, unknown> = {},
  type = 'Directory',
): Manifest => mounting({ hostPath: { path, type } }, mount);
const token = (fields: Record<string, unknown>): Manifest =>
  mounting({ projected: { sources: [{ serviceAccountToken: { path: 't', ...fields } }] } });
/** A pod with an ephemeral volume that is well but for this. */
const claiming = (
  spec: Record<string, unknown>,
  metadata: Record<string, unknown> = {},
): Manifest => mounting({ ephemeral: { volumeClaimTemplate: { metadata, spec: claim(spec) } } });

const volumes: readonly Row[] = [
  ['the root of the node', 'hostPath.path of volume v', '/fs/ess', hostPath('/')],
  [
    'the socket of the runtime',
    'hostPath.path of volume v',
    '/fs/ess',
    hostPath('/run/containerd/containerd.sock', {}, 'Socket'),
  ],
  ['a device', 'hostPath.path of volume v', '/fs/ess', hostPath('/dev/sda', {}, 'BlockDevice')],
  [
    "the kubelet's directory",
    'hostPath.path of volume v',
    '/fs/ess',
    hostPath('/var/lib/kubelet/pods'),
  ],
  ["another user's home", 'hostPath.path of volume v', '/home/{user}', hostPath('/home/bob')],
  [
    'a link below the own home',
    'hostPath.path of volume v',
    '/home/{user}',
    hostPath('/home/ada/link-to-etc'),
  ],
  [
    'a name that begins as an allowed one',
    'hostPath.path of volume v',
    '/fs/ess',
    hostPath('/fs/ess-private'),
  ],
  ['an allowed name further down', 'hostPath.path of volume v', '/fs/ess', hostPath('/mnt/fs/ess')],
  ['two slashes', 'hostPath.path of volume v', '/fs/ess', hostPath('/users//bob')],
  ['the directory itself by a dot', 'hostPath.path of volume v', '/fs/ess', hostPath('/users/.')],
  [
    'a directory to be made on the node',
    'hostPath.type of volume v',
    'must be Directory, File or absent',
    hostPath('/users/mallory', {}, 'DirectoryOrCreate'),
  ],
  [
    'a file to be made on the node',
    'hostPath.type of volume v',
    'must be Directory, File or absent',
    hostPath('/users/mallory', {}, 'FileOrCreate'),
  ],
  [
    'a device at an allowed path',
    'hostPath.type of volume v',
    'must be Directory, File or absent',
    hostPath('/users/disk', {}, 'CharDevice'),
  ],
  [
    'writing where only reading is allowed',
    'volumeMounts.readOnly of container main',
    'must be true for v',
    hostPath('/apps'),
  ],
  [
    'writing by a pattern',
    'volumeMounts.readOnly of container main',
    'must be true for v',
    hostPath('/etc/pki/tls'),
  ],
  [
    'reading in one container, writing in another',
    'volumeMounts.readOnly of container second',
    'must be true for v',
    podWith(
      {
        volumes: [{ name: 'v', hostPath: { path: '/apps' } }],
        ...secondContainer('initContainers', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      },
      { volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true }] },
    ),
  ],
  [
    'a subPath of a host path',
    'volumeMounts.subPath of container main',
    'must be absent for the host paths v',
    hostPath('/users/ada', { subPath: 'link' }),
  ],
  [
    'a subPath by a variable',
    'volumeMounts.subPath of container main',
    'must be absent for the host paths v',
    podWith(
      { volumes: [{ name: 'v', hostPath: { path: '/users/ada' } }] },
      {
        env: [{ name: 'WHERE', value: 'link' }],
        volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(WHERE)' }],
      },
    ),
  ],
  [
    "another server's export",
    'nfs of volume v',
    'nfs.example.org:/export/*',
    mounting({ nfs: { server: 'evil.example.net', path: '/export/ada' } }),
  ],
  [
    'an export that is not shared',
    'nfs of volume v',
    'nfs.example.org:/export/*',
    mounting({ nfs: { server: 'nfs.example.org', path: '/root' } }),
  ],
  [
    'an export by two dots',
    'nfs of volume v',
    'nfs.example.org:/export/*',
    mounting({ nfs: { server: 'nfs.example.org', path: '/export/..' } }),
  ],
  [
    'a CSI driver of its own',
    'csi.driver of volume v',
    'secrets-store.csi.k8s.io',
    mounting({ csi: { driver: 'hostpath.csi.k8s.io' } }),
  ],
  [
    'iSCSI',
    'kind of volume v',
    'must be one of configMap',
    mounting({
      iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:disk', lun: 0 },
    }),
  ],
  [
    'a flexVolume',
    'kind of volume v',
    'must be one of configMap',
    mounting({ flexVolume: { driver: 'example.com/driver' } }),
  ],
  [
    'a git repository cloned by root',
    'kind of volume v',
    'must be one of configMap',
    mounting({ gitRepo: { repository: 'https://example.org/x.git' } }),
  ],
  [
    'a CephFS of its own',
    'kind of volume v',
    'must be one of configMap',
    mounting({ cephfs: { monitors: ['10.0.0.1:6789'] } }),
  ],
  [
    'a token for another service',
    'projected.sources.serviceAccountToken.audience of volume v',
    'must be absent or vault',
    token({ audience: 'sts.amazonaws.com' }),
  ],
];

const made = 'must be absent: users get a new volume, not an existing one';

/** Claims that a pod brings with it: what binds them is no kind of volume, and asks no RBAC. */
const ephemeral: readonly Row[] = [
  [
    'an ephemeral claim that keeps its namespace from the reaper',
    'ephemeral.volumeClaimTemplate.metadata.labels of volume v',
    'must not have berth.dev/user-volume',
    claiming({}, { labels: { 'berth.dev/user-volume': 'true' } }),
  ],
  [
    "an admin's volume by an ephemeral claim",
    'ephemeral.volumeClaimTemplate.spec.volumeName of volume v',
    made,
    claiming({ volumeName: 'the-root-of-the-node' }),
  ],
  [
    "an admin's volume by its labels",
    'ephemeral.volumeClaimTemplate.spec.selector of volume v',
    made,
    claiming({ selector: { matchLabels: { site: 'archive' } } }),
  ],
  [
    'any volume by an empty selector',
    'ephemeral.volumeClaimTemplate.spec.selector of volume v',
    made,
    claiming({ selector: {} }),
  ],
  [
    'the data of a snapshot',
    'ephemeral.volumeClaimTemplate.spec.dataSource of volume v',
    made,
    claiming({
      dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'x' },
    }),
  ],
  [
    'the data of any other thing',
    'ephemeral.volumeClaimTemplate.spec.dataSource',
    made,
    claiming({ dataSourceRef: { apiGroup: 'example.org', kind: 'Populator', name: 'x' } }),
  ],
  [
    'a volume without a class, as an admin makes them by hand',
    'ephemeral.volumeClaimTemplate.spec.storageClassName of volume v',
    'must be one of the values that this site allows: scratch',
    claiming({ storageClassName: '' }),
  ],
  [
    'a volume of whichever class there is',
    'ephemeral.volumeClaimTemplate.spec.storageClassName of volume v',
    'must be one of the values that this site allows: scratch',
    claiming({ storageClassName: undefined }),
  ],
  [
    'a volume of a class that is not for users',
    'ephemeral.volumeClaimTemplate.spec.storageClassName of volume v',
    'must be one of the values that this site allows: scratch',
    claiming({ storageClassName: 'archive' }),
  ],
  [
    'another class by the old annotation, which counts before the field',
    'ephemeral.volumeClaimTemplate.spec.storageClassName of volume v',
    'must be one of the values that this site allows: scratch',
    claiming({}, { annotations: { 'volume.beta.kubernetes.io/storage-class': 'archive' } }),
  ],
  [
    'a volume with a directory of its choice',
    'ephemeral.volumeClaimTemplate.metadata.annotations of volume v',
    'must only have keys that this site allows',
    claiming({}, { annotations: { 'nfs.io/storage-path': '../user-bob' } }),
  ],
];

const attributes: readonly Row[] = [
  [
    'a volume of another performance',
    'ephemeral.volumeClaimTemplate.spec.volumeAttributesClassName of volume v',
    made,
    claiming({ volumeAttributesClassName: 'gold' }),
  ],
];

/** Pods that would reach files which are not theirs. */
export const hostileVolumes: readonly HostileObject[] = [
  ...rowsOf('pods', volumes),
  ...rowsOf('pods', ephemeral),
  ...rowsOf('pods', attributes, '1.34'),
];
