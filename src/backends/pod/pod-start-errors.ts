import { BerthError, type ErrorCode } from '../../errors/berth-error.ts';
import type { PodFault, PodState } from './objects/pod-state.ts';
import { type PullFailure, pullFailure } from './objects/pull-failure.ts';
import { installedPath } from '../../installed-path.ts';

interface Words {
  /** For the user. */
  readonly message: string;
  /** For the admin, unless `forUser`. */
  readonly hint: string;
  readonly forUser?: boolean;
}

/** @param events A command that shows them: the pod itself has been deleted. */
const words = (events: string): Readonly<Record<PodFault, Words>> => ({
  'pod-image': {
    message: 'the image of your session could not be pulled',
    hint: 'Check that the registry has it, and that the pull secret of the namespace is valid.',
  },
  'pod-configuration': {
    message: 'the node could not start your session',
    hint: `Run \`${events}\`: the image may lack \`sleep\`, or have a file where a mount of the profile needs a directory.`,
  },
  'pod-evicted': {
    message: 'your session was evicted from its node',
    hint: 'Log in again: the session starts on another node.',
    forUser: true,
  },
  'pod-time-limit': {
    message: 'your session has reached its time limit',
    hint: 'Log in again for a new session.',
    forUser: true,
  },
  'pod-ended': {
    message: 'your session ended right after it started',
    hint: `Run \`${events}\`: the image may lack \`sleep\`, or the pod may have too little memory.`,
  },
});

const pulls: Readonly<Record<PullFailure, Words & { readonly code: ErrorCode }>> = {
  never: {
    code: 'pod-image-missing',
    message: 'the image of your session is not on its node',
    hint: 'Load it on the node, or set `pull: missing` in the profile.',
  },
  name: {
    code: 'pod-image-name',
    message: 'the image of your session has an invalid name',
    hint: 'Correct `image` in the profile.',
  },
  unreachable: {
    code: 'pod-registry-unreachable',
    message: 'the image of your session could not be pulled: its registry does not respond',
    hint: 'Check that the registry runs and that the nodes can reach it. The next login tries again.',
  },
  denied: {
    code: 'pod-image-denied',
    message:
      'the image of your session could not be pulled: its registry denies access to the cluster',
    hint: 'Check the pull secret in the namespace (`pod.pull_secret` in the profile, or the one that the hook creates).',
  },
  missing: {
    code: 'pod-image-missing',
    message: 'the image of your session is not in its registry',
    hint: 'Push it to the registry, or correct `image` in the profile.',
  },
};

/** The error for a pod that failed to start or has ended. */
export function podFailed(
  code: PodFault,
  detail: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): BerthError {
  const failure = code === 'pod-image' ? pullFailure(detail) : undefined;
  const known = failure && pulls[failure];
  const events = `kubectl events -n ${namespace} --for pod/${name}`;
  const { message, ...rest } = known ?? words(events)[code];
  return new BerthError(`${message}: ${plain(detail)}`, { code, ...rest });
}

/** The error for a pod that did not start within the profile's `deadline`. */
export function podStartTimeout(
  { text }: Extract<PodState, { kind: 'waiting' }>,
  reason: string | undefined,
  deadlineMs: number,
): BerthError {
  const unschedulable = /^waiting for (?:a node|the scheduler)/.test(text);
  const why = reason === undefined ? '' : `: ${plain(reason)}`;
  return new BerthError(
    `your session did not start within ${deadlineMs / 1000} s (${text})${why}`,
    {
      code: unschedulable ? 'pod-unschedulable' : 'pod-start-deadline',
      hint: unschedulable
        ? 'The cluster is full, or no node matches `pod.node_selector`, `pod.tolerations`, `pod.extended` and `limits` of the profile.'
        : 'Check the events of the pod. The limit is `deadline` in the profile.',
    },
  );
}

/** @returns undefined if the API server's message is not about the pod */
export function podRejected(status: number, said: string): BerthError | undefined {
  if (status === 403 && said.includes('exceeded quota'))
    return new BerthError(`your session exceeds your quota: ${plain(said)}`, {
      code: 'pod-quota',
      hint: 'End another of your sessions or jobs, or ask the admins of the cluster for a larger quota.',
      forUser: true,
    });
  if (/namespaces? "[^"]*" not found|being terminated/.test(said))
    return new BerthError(`your namespace on the cluster does not exist any more: ${plain(said)}`, {
      code: 'pod-namespace-gone',
      hint: 'Close all connections and log in again: the first connection creates it.',
      forUser: true,
    });
  if ((status === 403 || status === 422) && /admission|denied|policy/i.test(said))
    return new BerthError(`the cluster refuses your session: ${plain(said)}`, {
      code: 'pod-refused',
      hint: `Correct the profile, or allow it in admission.yml (\`host_paths\` for mounts) and apply \`berth render policies\` again (${installedPath('share/docs/ssh-pods.md')}).`,
    });
  return undefined;
}

/** A message of a server, on one line. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ').slice(0, 500);
}
