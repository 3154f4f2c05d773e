import { readdirSync, readFileSync } from 'node:fs';
import { expectErrno } from './errors/berth-error.ts';
import { processStartTime } from './process-start.ts';
import { statusField } from './proc-status.ts';

/** How many ancestors are checked: sshd's processes, the shell of a forced command, and some more. */
const furthest = 16;

/**
 * The SSH connection that this process belongs to: the ancestor that PAM's hook recorded, otherwise the nearest ancestor that
 * does not belong to the user, which is sshd's monitor.
 *
 * @param noted directory with the user's open connections, each named `PID.STARTTIME` of sshd's monitor process
 * @param uid UID of the user, who runs this process
 * @returns `PID.STARTTIME`; undefined if it cannot be determined
 */
export function currentConnection(noted: string, uid: number): string | undefined {
  const connections = notedConnections(noted);
  for (let pid = process.ppid, step = 0; pid > 1 && step < furthest; step += 1) {
    const known = connections.find((name) => name.startsWith(`${pid}.`));
    if (known !== undefined) return known;
    const { parent, owner } = statusOf(pid);
    if (owner !== uid) {
      const start = processStartTime(pid);
      return start === undefined ? undefined : `${pid}.${start}`;
    }
    pid = parent;
  }
  return undefined;
}

function notedConnections(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    expectErrno(error);
    return [];
  }
}

/** Does not use the owner of /proc/PID, which is root for a process that has dropped root, such as sshd's child. */
function statusOf(pid: number): { readonly parent: number; readonly owner: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const field = (name: string): number => Number.parseInt(statusField(status, name) ?? '-1');
    return { parent: field('PPid'), owner: field('Uid') };
  } catch {
    return { parent: -1, owner: -1 };
  }
}
