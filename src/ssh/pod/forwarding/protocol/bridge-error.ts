import { BerthError } from '../../../../errors.ts';

/**
 * What came is nothing that the program sends which Berth starts in the pod: the bridge ends, for its next
 * byte could be anything. The session goes on.
 */
export function bridgeError(what: string): BerthError {
  return new BerthError(`the forwarding program in the pod: ${what}`, {
    code: 'forwarding-protocol',
    exit: 'unavailable',
    hint: 'Forwarding has stopped for this session: a process in the pod may be imitating the program that Berth started. The next session starts a new one.',
  });
}
