import { namesIn } from '../../system/names-in.ts';
import { isRunning } from '../../system/processes.ts';
import { closingFile, monitorOf } from './connection-record.ts';
import { connectionsOf, type SessionSite } from './state-paths.ts';

type Place = Pick<SessionSite, 'run'>;

/** IDs of the user's connections whose sshd is running and whose cleanup has not begun. */
export function openConnections(site: Place, uid: number): ReadonlySet<string> {
  const names = namesIn(connectionsOf(site, uid));
  return new Set(
    names.filter((name) => {
      const monitor = monitorOf(name);
      return monitor !== undefined && isRunning(monitor);
    }),
  );
}

/** Whether any connection's cleanup has not begun, whether its sshd is running or was killed. */
export function hasConnections(site: Place, uid: number): boolean {
  return namesIn(connectionsOf(site, uid)).some((name) => monitorOf(name) !== undefined);
}

/** IDs of the connections whose cleanup has begun or is incomplete. */
export function closingConnections(site: Place, uid: number): readonly string[] {
  const end = closingFile('');
  return namesIn(connectionsOf(site, uid))
    .filter((name) => name.endsWith(end))
    .map((name) => name.slice(0, -end.length))
    .filter((id) => monitorOf(id) !== undefined);
}
