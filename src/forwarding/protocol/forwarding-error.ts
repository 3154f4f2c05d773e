import { BerthError } from '../../errors/berth-error.ts';

/**
 * The forwarding helper in the pod sent something that Berth's program never sends. Forwarding ends, because its next byte
 * could mean anything. The session continues.
 */
export function forwardingProtocolError(what: string): BerthError {
  return new BerthError(`the forwarding helper in the pod violated the protocol: ${what}`, {
    code: 'forwarding-protocol',
  });
}
