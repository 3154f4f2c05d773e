import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { type HostileObject, rowsOf, type Row } from './hostile.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a claim asks for: well but for this. */
export function claim(fields: Fields): Fields {
  return {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'scratch',
    resources: { requests: { storage: '1Gi' } },
    ...fields,
  };
}

export function claimOf(fields: Fields, metadata: Fields = {}): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'hostile', ...metadata },
    spec: claim(fields),
  };
}

const made = 'must be absent: users get a new volume, not an existing one';

const rows: readonly Row[] = [
  [
    "a claim of an admin's volume",
    'spec.volumeName',
    made,
    claimOf({ volumeName: 'the-root-of-the-node' }),
  ],
  [
    'a claim of a volume by its labels',
    'spec.selector',
    made,
    claimOf({ selector: { matchLabels: { site: 'archive' } } }),
  ],
  [
    'a claim with the data of a snapshot',
    'spec.dataSource',
    made,
    claimOf({
      dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'x' },
    }),
  ],
  [
    'a claim of a volume without a class',
    'spec.storageClassName',
    'must be one of the values that this site allows: scratch',
    claimOf({ storageClassName: '' }),
  ],
  [
    'a claim of a class that is not for users',
    'spec.storageClassName',
    'must be one of the values that this site allows: scratch',
    claimOf({ storageClassName: 'archive' }),
  ],
  [
    'a claim of another class by the old annotation',
    'spec.storageClassName',
    'must be one of the values that this site allows: scratch',
    claimOf(
      { storageClassName: undefined },
      { annotations: { 'volume.beta.kubernetes.io/storage-class': 'archive' } },
    ),
  ],
];

const keys = 'must be absent: this site does not allow these keys';

/** Provisioners read annotations: where a claim's directory is, or what to import. */
const notes: readonly Row[] = [
  [
    'a claim with a directory of its choice',
    'metadata.annotations nfs.io/storage-path',
    keys,
    claimOf({}, { annotations: { 'nfs.io/storage-path': '../user-bob' } }),
  ],
  [
    'a claim with a directory of its choice by a key without a domain',
    'metadata.annotations path',
    keys,
    claimOf({}, { annotations: { path: '../user-bob' } }),
  ],
  [
    'a claim that imports a volume of the storage system',
    'metadata.annotations trident.netapp.io/importOriginalName',
    keys,
    claimOf({}, { annotations: { 'trident.netapp.io/importOriginalName': 'archive' } }),
  ],
];

/** Berth never deletes a claim with it, and so not its namespace. */
const marks: readonly Row[] = ['true', ''].map((value): Row => [
  `a claim that keeps its namespace from the reaper, by the value '${value}'`,
  'metadata.labels berth.dev/user-volume',
  'may only be changed by the login hook',
  claimOf({}, { labels: { 'berth.dev/user-volume': value } }),
]);

const devices = (kind: string, requests: readonly Fields[]): Manifest => {
  const spec = { devices: { requests } };
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind,
    metadata: { name: 'hostile' },
    spec: kind === 'ResourceClaim' ? spec : { spec },
  };
};
const listed = { deviceClassName: 'gpu.example.org' };

/** Devices of dynamic resource allocation. */
export const hostileDevices: readonly HostileObject[] = rowsOf(
  'device-claims',
  ['ResourceClaim', 'ResourceClaimTemplate'].flatMap((kind): Row[] => [
    [
      `a ${kind} of another class`,
      'spec.devices.requests.deviceClassName',
      'gpu.example.org',
      devices(kind, [{ name: 'a', exactly: { deviceClassName: 'nic.example.org' } }]),
    ],
    [
      `a ${kind} of another class behind one of the list`,
      'spec.devices.requests.deviceClassName',
      'gpu.example.org',
      devices(kind, [
        { name: 'a', exactly: listed },
        {
          name: 'b',
          firstAvailable: [
            { name: 'c', ...listed },
            { name: 'd', deviceClassName: 'nic.example.org' },
          ],
        },
      ]),
    ],
  ]),
  '1.34',
);

/** Claims of devices that a site allows. */
export const friendlyDevices: readonly Manifest[] = ['ResourceClaim', 'ResourceClaimTemplate'].map(
  (kind) =>
    devices(kind, [
      { name: 'a', exactly: listed },
      { name: 'b', firstAvailable: [{ name: 'c', ...listed }] },
    ]),
);

/** PersistentVolumeClaims that lead to what others made. */
export const hostileClaims: readonly HostileObject[] = [
  ...rowsOf('claims', [...rows, ...notes, ...marks]),
  ...rowsOf(
    'claims',
    [
      [
        'a claim of another performance',
        'spec.volumeAttributesClassName',
        made,
        claimOf({ volumeAttributesClassName: 'gold' }),
      ],
    ],
    '1.34',
  ),
];

const account = (name: string): string => `system:serviceaccount:kube-system:${name}`;

/** What controllers make for users, with rights of their own: it is checked like a user's. */
export const hostileByControllers: readonly (readonly [string, HostileObject])[] = [
  ...['statefulset-controller', 'ephemeral-volume-controller'].flatMap((name) =>
    rowsOf('claims', [...rows, ...notes, ...marks]).map(
      (hostile) => [account(name), hostile] as const,
    ),
  ),
  // For a pod with the resource that a DeviceClass calls its `extendedResourceName`.
  ...[account('resource-claim-controller'), 'system:kube-scheduler'].flatMap((name) =>
    hostileDevices
      .filter(({ object }) => object.kind === 'ResourceClaim')
      .map((hostile) => [name, hostile] as const),
  ),
];
