import { runningProcesses } from '../../system/processes.ts';
import { userManagerUnit } from '../../system/process-unit.ts';

/** A service that systemd's manager of a user (user@UID.service) runs on this host, outside of every session. */
export interface UserService {
  readonly uid: number;
  readonly unit: string;
  readonly processes: number;
}

/** Podman's bus: etc/systemd/user-manager. */
const ownUnits = new Set(['dbus.service', 'dbus-broker.service']);

/**
 * The services of users' managers. Containers and sessions are in scopes, which whoever asks for one fills with processes of
 * its own; the processes of a service are started by the manager.
 *
 * @param uid only of this user; default: of all users but root
 */
export function userServices(uid?: number): readonly UserService[] {
  const found = new Map<string, UserService>();
  for (const { pid, uid: owner } of runningProcesses((one) => (uid ?? one) === one && one !== 0)) {
    const unit = userManagerUnit(pid, owner);
    if (unit?.endsWith('.service') !== true || ownUnits.has(unit)) continue;
    const key = `${owner} ${unit}`;
    const processes = (found.get(key)?.processes ?? 0) + 1;
    found.set(key, { uid: owner, unit, processes });
  }
  return [...found.values()];
}
