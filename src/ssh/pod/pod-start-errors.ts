import { BerthError, type ErrorCode, type ExitClass } from '../../errors.ts';
import type { PodFault, PodState } from './objects/pod-state.ts';
import { type PullFailure, pullFailure } from './objects/pull-failure.ts';
import { installedPath } from '../../installed-path.ts';

interface Words {
  /** In the user's words. */
  readonly message: string;
  /** For the admin. */
  readonly hint: string;
  readonly exit?: ExitClass;
}

const words: Readonly<Record<PodFault, Words>> = {
  'pod-image': {
    message: 'the image of your session cannot be had',
    hint: 'See whether the registry has it, and whether the pull secret of the namespace is good.',
  },
  'pod-configuration': {
    message: 'your session cannot be started on its node',
    hint: 'See `kubectl describe pod`; the image may lack what the profile wants.',
  },
  'pod-evicted': {
    message: 'the node of your session had to let it go',
    hint: 'Log in again: it starts on another.',
  },
  'pod-time-limit': {
    message: 'the time of your session is over',
    hint: 'Log in again for a new one.',
  },
  'pod-ended': {
    message: 'your session ended as soon as it was started',
    hint: 'See `kubectl describe pod`.',
  },
};

const pulls: Readonly<Record<PullFailure, Words & { readonly code: ErrorCode }>> = {
  never: {
    code: 'pod-image-missing',
    message: 'the image of your session is not on its node',
    hint: 'Bring it there, or say `pull: missing` in the profile.',
  },
  name: {
    code: 'pod-image-name',
    message: 'the image of your session has a name that is none',
    hint: 'Correct `image` in the profile.',
    exit: 'config',
  },
  unreachable: {
    code: 'pod-registry-unreachable',
    message: 'the image of your session cannot be fetched: its registry does not answer',
    hint: 'See whether the registry runs and the nodes may reach it; the next login tries again.',
    exit: 'temporary',
  },
  denied: {
    code: 'pod-image-denied',
    message:
      'the image of your session cannot be fetched: its registry does not let the cluster have it',
    hint: 'See the pull secret of the namespace (`pull_secret` in the profile, or what the hook makes).',
  },
  missing: {
    code: 'pod-image-missing',
    message: 'the image of your session is not in its registry',
    hint: 'Push it, or correct `image` in the profile.',
  },
};

/** A pod that will not run, or does no more. */
export function podFault(code: PodFault, detail: string): BerthError {
  const failure = code === 'pod-image' ? pullFailure(detail) : undefined;
  const known = failure && pulls[failure];
  const { message, hint, exit = 'unavailable' } = known ?? words[code];
  return new BerthError(`${message}: ${plain(detail)}`, { code: known?.code ?? code, exit, hint });
}

/** A pod that waits for longer than the profile's `deadline`. */
export function podTooLate(
  { text }: Extract<PodState, { kind: 'waiting' }>,
  reason: string | undefined,
  deadlineMs: number,
): BerthError {
  const unschedulable = text.includes('place on the cluster');
  const why = reason === undefined ? '' : `: ${plain(reason)}`;
  return new BerthError(
    `your session did not start within ${deadlineMs / 1000} s (${text})${why}`,
    {
      code: unschedulable ? 'pod-unschedulable' : 'pod-start-deadline',
      exit: 'temporary',
      hint: unschedulable
        ? 'The cluster is full, or no node fits node_selector, tolerations and resources of the profile.'
        : '`deadline` in the profile bounds it; see the events of the pod.',
    },
  );
}

/** @returns Nothing where the API server's words are not about the pod. */
export function podRefusal(status: number, said: string): BerthError | undefined {
  if (status === 403 && said.includes('exceeded quota'))
    return new BerthError(`there is no room for your session in your quota: ${plain(said)}`, {
      code: 'pod-quota',
      exit: 'temporary',
      hint: 'End another session or job of yours, or ask the admins of the cluster for more.',
      forUser: true,
    });
  if (/namespaces? "[^"]*" not found|being terminated/.test(said))
    return new BerthError(`your namespace on the cluster is gone: ${plain(said)}`, {
      code: 'pod-namespace-gone',
      exit: 'temporary',
      hint: 'Close all connections and log in again: the first one makes it anew.',
      forUser: true,
    });
  if ((status === 403 || status === 422) && /admission|denied|policy/i.test(said))
    return new BerthError(`the cluster refuses your session: ${plain(said)}`, {
      code: 'pod-refused',
      exit: 'permission',
      hint: `Compare the profile with the policies of the cluster (${installedPath('share/etc/kubernetes/admission')}).`,
    });
  return undefined;
}

/** A server's words, on one line. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ').slice(0, 500);
}
