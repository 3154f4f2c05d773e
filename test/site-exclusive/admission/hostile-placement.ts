import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { absent, podWith, rowsOf, type HostileObject, type Row } from './hostile.ts';

/** Taints of a node that is cordoned, not ready or short of something, in the ways that a toleration matches them. */
const ownTaints = [
  ...['unschedulable', 'not-ready', 'unreachable', 'network-unavailable', 'out-of-service'],
  ...['disk-pressure', 'memory-pressure', 'pid-pressure'],
].flatMap((name) => {
  const key = `node.kubernetes.io/${name}`;
  return [
    { key, operator: 'Exists' },
    { key, operator: 'Exists', effect: 'NoSchedule' },
    { key, operator: 'Equal', value: '', effect: 'NoExecute' },
  ].map((toleration): Row => [
    `the taint ${name} by ${JSON.stringify(toleration)}`,
    `spec.tolerations has the key ${key}`,
    'gpu',
    podWith({ tolerations: [toleration] }),
  ]);
});

/** A pod off whose node the scheduler keeps others: a running pod's required terms apply to later pods, too. */
export const keepingOff = (term: Readonly<Record<string, unknown>>): Manifest =>
  podWith({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: {} },
          { topologyKey: 'kubernetes.io/hostname', labelSelector: {}, ...term },
        ],
      },
    },
  });

const exclusive = [
  { namespaces: ['user-bob'] },
  { namespaceSelector: {} },
  { namespaceSelector: { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] } },
].map((term): Row => [
  `a node without the pods of others (${JSON.stringify(term)})`,
  'spec.affinity.podAntiAffinity',
  'must not have namespaces or namespaceSelector where it is required',
  keepingOff(term),
]);

const placement: readonly Row[] = [
  ...ownTaints,
  ...exclusive,
  ['a node of its choice', 'spec.nodeName', absent, podWith({ nodeName: 'control-plane' })],
  ...['pipeline', 'berth-session', 'berth-user'].flatMap((account): Row[] => [
    [
      `the account ${account}`,
      'spec.serviceAccountName',
      'allows: default',
      podWith({ serviceAccountName: account }),
    ],
    [
      `the account ${account} without its token`,
      'spec.serviceAccountName',
      'allows: default',
      podWith({ serviceAccountName: account, automountServiceAccountToken: false }),
    ],
    [
      `the account ${account} by the field's old name`,
      'spec.serviceAccount',
      'allows: default',
      podWith({ serviceAccount: account }),
    ],
  ]),
  [
    'every taint',
    'spec.tolerations has the key (all)',
    'gpu',
    podWith({ tolerations: [{ operator: 'Exists' }] }),
  ],
  [
    'the taint of the control plane',
    'spec.tolerations has the key node-role.kubernetes.io/control-plane',
    'gpu',
    podWith({
      tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }],
    }),
  ],
  [
    'the priority of the system',
    'spec.priorityClassName',
    'batch',
    podWith({ priorityClassName: 'system-node-critical' }),
  ],
];

/** Pods with nodes, accounts and priorities that the site does not give. */
export const hostilePlacement: readonly HostileObject[] = rowsOf('pods', placement);
