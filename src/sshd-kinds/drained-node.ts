import { existsSync } from 'node:fs';

/** While it exists, `berth-sshd@.service` does not start. */
const drainFile = '/etc/berth/drain';

/** Whether `berth node drain`, or an admin, has taken this node out of service. */
export function isNodeDrained(): boolean {
  return existsSync(drainFile);
}
