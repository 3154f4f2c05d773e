import { BerthError } from '../../../../errors.ts';

/** The server, or something between, does not keep to the protocol: the stream ends, for its next byte could be anything. */
export function protocolError(what: string): BerthError {
  return new BerthError(`the exec stream of the API server: ${what}`, {
    code: 'exec-protocol',
    exit: 'unavailable',
    hint: 'See what stands between this host and the API server: a proxy that changes WebSocket frames, or another program at this address.',
  });
}
