import { parentPid } from '../../system/processes.ts';
import type { Session } from './session.ts';

/** How many ancestors are looked at: sudo, shells, tmux. */
const furthest = 64;

/** The session from which this process was started, so that an admin does not end it along with the others. */
export function ownSession(sessions: readonly Session[]): Session | undefined {
  let pid: number | undefined = process.pid;
  for (let step = 0; pid !== undefined && pid > 1 && step < furthest; step += 1) {
    const start = `${pid}.`;
    const found = sessions.find(({ id }) => id.startsWith(start));
    if (found !== undefined) return found;
    pid = parentPid(pid);
  }
  return undefined;
}
