import { BerthError } from '../../errors/berth-error.ts';

/** @throws {BerthError} `usage` for a value that is not a TCP port, such as two values */
export function checkPort(port: unknown, given: unknown = port): number {
  if (typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535)
    return port;
  throw new BerthError(`--port ${String(given)}: must be a port from 1 to 65535`, {
    code: 'usage',
    hint: 'See `Port` in sshd_config.',
  });
}
