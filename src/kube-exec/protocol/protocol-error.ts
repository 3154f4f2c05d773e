import { BerthError } from '../../errors/berth-error.ts';

/** The server, or a proxy in between, violates the protocol. The stream ends, because its next byte could mean anything. */
export function protocolError(what: string): BerthError {
  return new BerthError(`the exec stream of the API server violates the protocol: ${what}`, {
    code: 'exec-protocol',
  });
}
