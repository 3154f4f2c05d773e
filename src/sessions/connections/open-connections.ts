import { directoryNames } from '../../system/if-present.ts';
import { processStartTime } from '../../system/process-start.ts';
import { closingRecordPath, parseConnectionId } from './connection-record.ts';
import { runningMonitor } from './sshd-monitor.ts';
import { type SessionContext, userConnectionsDir } from './state-paths.ts';

type Place = Pick<SessionContext, 'run'>;

/** IDs of the user's connections whose sshd is running and whose cleanup has not begun. */
export function openConnections(site: Place, uid: number): ReadonlySet<string> {
  const names = directoryNames(userConnectionsDir(site, uid));
  return new Set(
    names.filter((name) => {
      const monitor = parseConnectionId(name);
      return monitor !== undefined && runningMonitor(monitor) !== undefined;
    }),
  );
}

/**
 * IDs of the user's connections whose process still runs, as far as the user can tell: only root sees whether it is sshd's.
 */
export function recordedConnections(site: Place, uid: number): string[] {
  return directoryNames(userConnectionsDir(site, uid)).filter((name) => {
    const monitor = parseConnectionId(name);
    return monitor !== undefined && processStartTime(monitor.pid) === monitor.start;
  });
}

/** Whether any connection's cleanup has not begun, whether its sshd is running or was killed. */
export function hasConnections(site: Place, uid: number): boolean {
  return directoryNames(userConnectionsDir(site, uid)).some(
    (name) => parseConnectionId(name) !== undefined,
  );
}

/** IDs of the connections whose cleanup has begun or is incomplete. */
export function closingConnections(site: Place, uid: number): readonly string[] {
  const end = closingRecordPath('');
  return directoryNames(userConnectionsDir(site, uid))
    .filter((name) => name.endsWith(end))
    .map((name) => name.slice(0, -end.length))
    .filter((id) => parseConnectionId(id) !== undefined);
}
