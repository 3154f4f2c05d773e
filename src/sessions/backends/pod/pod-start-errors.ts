import { BerthError, type ErrorCode } from '../../../system/errors/berth-error.ts';
import {
  type PodFault,
  type PodState,
  type PullFailure,
  pullFailure,
} from './objects/pod-state.ts';

interface Words {
  /** For the user. */
  readonly message: string;
  /** For the admin, where the place knows more than the catalogue. */
  readonly hint?: string;
  /** True if the next step is for the user. */
  readonly forUser?: boolean;
}

/** @param events A command that shows them: the pod itself has been deleted. */
const words = (events: string): Readonly<Record<PodFault, Words>> => ({
  'pod-image': { message: 'the image of your session could not be pulled' },
  'pod-configuration': {
    message: 'the node could not start your session',
    hint: `Run \`${events}\`: the image may lack \`sleep\`, or have a file where a mount of the profile needs a directory.`,
  },
  'pod-evicted': { message: 'your session was evicted from its node', forUser: true },
  'pod-time-limit': { message: 'your session has reached its time limit', forUser: true },
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
  name: { code: 'pod-image-name', message: 'the image of your session has an invalid name' },
  unreachable: {
    code: 'pod-registry-unreachable',
    message: 'the image of your session could not be pulled: its registry does not respond',
  },
  denied: {
    code: 'pod-image-denied',
    message:
      'the image of your session could not be pulled: its registry denies access to the cluster',
  },
  missing: {
    code: 'pod-image-missing',
    message: 'the image of your session is not in its registry',
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
  const told: Words & { readonly code?: ErrorCode } = known ?? words(events)[code];
  const { message, hint, forUser } = told;
  return new BerthError(told.code ?? code, `${message}: ${plain(detail)}`, { hint, forUser });
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
    unschedulable ? 'pod-unschedulable' : 'pod-start-deadline',
    `your session did not start within ${deadlineMs / 1000} s (${text})${why}`,
  );
}

/** @returns undefined if the API server's message is not about the pod */
export function podRejected(status: number, said: string): BerthError | undefined {
  if (status === 403 && said.includes('exceeded quota'))
    return new BerthError('pod-quota', `your session exceeds your quota: ${plain(said)}`, {
      forUser: true,
    });
  if (/namespaces? "[^"]*" not found|being terminated/.test(said))
    return new BerthError(
      'pod-namespace-gone',
      `your namespace on the cluster does not exist any more: ${plain(said)}`,
      {
        forUser: true,
      },
    );
  if ((status === 403 || status === 422) && /admission|denied|policy/i.test(said))
    return new BerthError('pod-refused', `the cluster refuses your session: ${plain(said)}`);
  return undefined;
}

/** @param what `label KEY` or `annotation KEY` */
export function podChanged(what: string, namespace: string): BerthError {
  return new BerthError(
    'pod-changed',
    `the cluster changed the ${what} of your session's pod while it was created in ${namespace}`,
  );
}

/** A message of a server, on one line. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ').slice(0, 500);
}
