import { existsSync } from 'node:fs';
import { drainFile } from '../config/schema/default-settings.ts';

/** Whether `berth node drain`, or an admin, has taken this node out of service. */
export function isNodeDrained(): boolean {
  return existsSync(drainFile);
}
