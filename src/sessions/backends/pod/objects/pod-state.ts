import type {
  V1ContainerStatus,
  V1ObjectMeta,
  V1PodSpec,
  V1PodStatus,
} from '@kubernetes/client-node';
import type { KubeJson } from '../../../../kube/objects/kube-object.ts';

/** The fields of a Pod (v1.Pod) that show its progress. */
export interface PodStatus {
  readonly metadata?: KubeJson<V1ObjectMeta>;
  readonly spec?: Pick<KubeJson<V1PodSpec>, 'activeDeadlineSeconds'>;
  readonly status?: KubeJson<Omit<V1PodStatus, 'containerStatuses'>> & {
    readonly containerStatuses?: readonly KubeJson<Pick<V1ContainerStatus, 'state'>>[];
  };
}

export type PodState =
  | { readonly kind: 'running' }
  /** `text` is for the user. */
  | { readonly kind: 'waiting'; readonly text: string; readonly detail?: string }
  /** It should have ended by `due`, an RFC 3339 time of the cluster's clock. */
  | { readonly kind: 'ending'; readonly due: string }
  | { readonly kind: 'failed'; readonly code: PodFault; readonly detail: string };

export type PodFault =
  'pod-image' | 'pod-configuration' | 'pod-evicted' | 'pod-time-limit' | 'pod-ended';

/** Reasons of the kubelet after which waiting does not help (pkg/kubelet/images, container). */
const hopeless: Readonly<Record<string, PodFault | undefined>> = {
  ErrImagePull: 'pod-image',
  ImagePullBackOff: 'pod-image',
  ErrImageNeverPull: 'pod-image',
  InvalidImageName: 'pod-image',
  ImageInspectError: 'pod-image',
  CreateContainerConfigError: 'pod-configuration',
  CreateContainerError: 'pod-configuration',
  RunContainerError: 'pod-configuration',
};

/** The state of a pod. */
export function podState({ metadata, status = {} }: PodStatus): PodState {
  if (metadata?.deletionTimestamp !== undefined)
    return { kind: 'ending', due: metadata.deletionTimestamp };
  const { phase, reason, message = '', conditions = [], containerStatuses = [] } = status;
  if (phase === 'Failed' || phase === 'Succeeded')
    return {
      kind: 'failed',
      code: endCode(reason),
      detail: message === '' ? (reason ?? phase) : message,
    };
  const [container] = containerStatuses;
  if (container?.state?.running !== undefined) return { kind: 'running' };
  const waiting = container?.state?.waiting;
  const fetchesAgain =
    waiting?.reason === 'ErrImagePull' && !isPermanentPullFailure(waiting.message ?? '');
  const fault = fetchesAgain ? undefined : hopeless[waiting?.reason ?? ''];
  if (fault !== undefined)
    return {
      kind: 'failed',
      code: fault,
      detail: [waiting?.reason, waiting?.message].filter(Boolean).join(': '),
    };
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return {
      kind: 'waiting',
      text: 'waiting for a node',
      detail: scheduled.message,
    };
  if (scheduled === undefined) return { kind: 'waiting', text: 'waiting for the scheduler' };
  return {
    kind: 'waiting',
    text: fetchesAgain ? 'pulling the image again' : 'starting on its node',
    ...(waiting?.message !== undefined && { detail: waiting.message }),
  };
}

function endCode(reason: string | undefined): PodFault {
  if (reason === 'Evicted' || reason === 'Preempting' || reason === 'NodeShutdown')
    return 'pod-evicted';
  return reason === 'DeadlineExceeded' ? 'pod-time-limit' : 'pod-ended';
}

/** Why an image cannot be pulled. */
export type PullFailure = 'never' | 'name' | 'unreachable' | 'denied' | 'missing';

/** Messages of kubelet, containerd and CRI-O for a failed pull; the first match counts. */
const patterns: readonly (readonly [PullFailure, RegExp])[] = [
  ['never', /ErrImageNeverPull/],
  ['name', /InvalidImageName/],
  [
    'unreachable',
    /connection refused|i\/o timeout|no such host|no route to host|network is unreachable|TLS handshake timeout|connection reset|: EOF|50[0234] /i,
  ],
  ['denied', /unauthorized|authorization failed|access denied|forbidden|no basic auth/i],
  ['missing', /not found|manifest unknown|does not exist/i],
];

/**
 * Classifies a failed pull.
 *
 * @param said the kubelet's message, with or without its reason before it
 * @returns undefined for any other message, such as a registry's rate limit
 */
export function pullFailure(said: string): PullFailure | undefined {
  return patterns.find(([, pattern]) => pattern.test(said))?.[0];
}

/**
 * Whether the kubelet's next attempt would fail too. It takes place 10 to 30 seconds after the first one (pkg/kubelet:
 * `backOffPeriod` and the image manager's back-off), which is too long to wait for a certain failure.
 */
function isPermanentPullFailure(said: string): boolean {
  const failure = pullFailure(said);
  return failure === 'denied' || failure === 'missing';
}
