import {
  podWith,
  secondContainer,
  sidecar,
  rowsOf,
  type HostileObject,
  type Row,
} from './hostile.ts';

const uid = 'must be 5001';
const gid = 'must be 5002';

const identity: readonly Row[] = [
  [
    'root',
    'spec.securityContext.runAsUser',
    uid,
    podWith({ securityContext: { runAsUser: 0, runAsNonRoot: false } }),
  ],
  [
    "another user's UID",
    'spec.securityContext.runAsUser',
    uid,
    podWith({ securityContext: { runAsUser: 5003 } }),
  ],
  [
    'another UID in a container',
    'securityContext.runAsUser of container main',
    uid,
    podWith({}, { securityContext: { runAsUser: 5003 } }),
  ],
  [
    'another UID in an init container',
    'securityContext.runAsUser of container second',
    uid,
    podWith(secondContainer('initContainers', { securityContext: { runAsUser: 5003 } })),
  ],
  [
    'root in a sidecar',
    'securityContext.runAsUser of container second',
    uid,
    podWith(sidecar({ runAsUser: 0, runAsNonRoot: false })),
  ],
  [
    "root's group",
    'spec.securityContext.runAsGroup',
    gid,
    podWith({ securityContext: { runAsGroup: 0 } }),
  ],
  [
    'a group of the user as the first one',
    'spec.securityContext.runAsGroup',
    gid,
    podWith({ securityContext: { runAsGroup: 6000 } }),
  ],
  [
    'another GID in a container',
    'securityContext.runAsGroup of container main',
    gid,
    podWith({}, { securityContext: { runAsGroup: 6500 } }),
  ],
  [
    'another GID in a sidecar',
    'securityContext.runAsGroup of container second',
    gid,
    podWith(sidecar({ runAsGroup: 6500 })),
  ],
  [
    "whoever the image's USER is",
    'spec.securityContext.runAsNonRoot',
    'must be true',
    podWith({ securityContext: { runAsNonRoot: false } }),
  ],
  [
    'runAsNonRoot off in a container',
    'securityContext.runAsNonRoot of container main',
    'must be true or absent',
    podWith({}, { securityContext: { runAsNonRoot: false } }),
  ],
  [
    'a foreign fsGroup',
    'spec.securityContext.fsGroup',
    gid,
    podWith({ securityContext: { fsGroup: 6500 } }),
  ],
  [
    "root's group as fsGroup",
    'spec.securityContext.fsGroup',
    gid,
    podWith({ securityContext: { fsGroup: 0 } }),
  ],
  [
    "root's group as a supplementary one",
    'spec.securityContext.supplementalGroups has 0',
    '5002, 6000, 6001',
    podWith({ securityContext: { supplementalGroups: [0] } }),
  ],
  [
    'a foreign group among own ones',
    'spec.securityContext.supplementalGroups has 6500',
    '5002, 6000, 6001',
    podWith({ securityContext: { supplementalGroups: [6000, 6500] } }),
  ],
  [
    "groups of the image's /etc/group",
    'spec.securityContext.supplementalGroupsPolicy',
    'must be Strict',
    podWith({ securityContext: { supplementalGroupsPolicy: 'Merge' } }),
  ],
];

/** Pods that would be somebody else. */
export const hostileIdentity: readonly HostileObject[] = [...rowsOf('pods', identity)];
