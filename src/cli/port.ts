import { BerthError } from '../errors.ts';

/** @throws `usage` for what is no TCP port, such as one that was given twice */
export function checkPort(port: unknown): number {
  if (typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535)
    return port;
  throw new BerthError(`--port ${String(port)}: a port from 1 to 65535 is wanted`, {
    code: 'usage',
    exit: 'usage',
    hint: 'See `Port` in sshd_config.',
  });
}
