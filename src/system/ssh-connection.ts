import { readdirSync, readFileSync } from 'node:fs';
import { isErrno } from '../errors.ts';
import { startOf } from './process-start.ts';

/** sshd, its child, the shell that runs a forced command, and then some. */
const furthest = 16;

/**
 * The connection that this process belongs to: of its ancestors, the one that PAM's hook noted, else
 * the nearest one that is not the user's, which is sshd's monitor.
 *
 * @param noted Folder where PAM's hook notes the user's open connections, as `PID.STARTTIME` of sshd's
 *   monitor process.
 * @param uid Of the user, who runs this process.
 * @returns `PID.STARTTIME`; nothing where /proc does not tell.
 */
export function ownConnection(noted: string, uid: number): string | undefined {
  const connections = notedConnections(noted);
  for (let pid = process.ppid, step = 0; pid > 1 && step < furthest; step += 1) {
    const known = connections.find((name) => name.startsWith(`${pid}.`));
    if (known !== undefined) return known;
    const { parent, owner } = statusOf(pid);
    if (owner !== uid) {
      const start = startOf(pid);
      return start === undefined ? undefined : `${pid}.${start}`;
    }
    pid = parent;
  }
  return undefined;
}

function notedConnections(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isErrno(error)) return [];
    throw error;
  }
}

/** Not by the owner of /proc/PID: that is root for a process that gave root up, as sshd's child did. */
function statusOf(pid: number): { readonly parent: number; readonly owner: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const field = (name: string): number =>
      Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? -1);
    return { parent: field('PPid'), owner: field('Uid') };
  } catch {
    return { parent: -1, owner: -1 };
  }
}
