import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isErrno } from '../../errors.ts';
import type { ProcessId } from '../../system/processes.ts';

/** One open SSH connection: `/run/berth/connections/UID/PID.STARTTIME`, root's, readable by all. */
export interface ConnectionRecord {
  readonly user: string;
  /** PAM's service, `sshd`. */
  readonly service: string;
  readonly rhost: string;
  readonly tty: string;
  /** Seconds since the epoch. */
  readonly opened: number;
  /** The audit session of all that the connection starts; absent where pam_loginuid did not run before. */
  readonly session?: number;
  /** Also what it leaves on the host is ended, outside of every container. */
  readonly hostProcesses?: boolean;
}

/** `PID.STARTTIME` of sshd's monitor process, which lives as long as the connection. */
export function connectionId({ pid, start }: ProcessId): string {
  return `${pid}.${start}`;
}

/** @returns Nothing where the text is no connection's ID. */
export function monitorOf(id: string): ProcessId | undefined {
  const [, pid, start] = /^([1-9][0-9]{0,9})\.([0-9]{1,20})$/.exec(id) ?? [];
  return pid === undefined || start === undefined ? undefined : { pid: Number(pid), start };
}

/** Writes the record in one step: whoever looks sees none or all of it. */
export function writeConnection(path: string, record: ConnectionRecord): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify(record)}\n`, { flag: 'wx', mode: 0o644 });
  renameSync(temporary, path);
}

/** The record of a connection whose end has begun; its monitor may be there yet. */
export function closingFile(path: string): string {
  return `${path}.closing`;
}

export function markClosing(path: string): void {
  try {
    renameSync(path, closingFile(path));
  } catch (error) {
    // Marked before, by one that was killed.
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

/** @returns Nothing where there is none, or what is there is none of ours. */
export function readConnection(path: string): ConnectionRecord | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const record = JSON.parse(text) as Partial<ConnectionRecord> | null;
    if (typeof record?.user === 'string' && typeof record.opened === 'number')
      return record as ConnectionRecord;
  } catch {
    // As for any other text that is not ours.
  }
  return undefined;
}
