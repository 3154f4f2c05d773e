import { renameSync } from 'node:fs';
import { textIfPresent, unlessMissing } from '../../system/if-present.ts';
import { writeStateFile } from '../../system/private-file.ts';
import type { ProcessId } from '../../system/processes.ts';
import type { Endpoint } from '../../system/tcp-table.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';

/** One open SSH connection, in `/run/berth/connections/UID/PID.STARTTIME`: owned by root, readable by all. */
export interface ConnectionRecord {
  readonly user: string;
  /** PAM's service, `sshd`. */
  readonly service: string;
  readonly rhost: string;
  readonly tty: string;
  /** Seconds since the epoch. */
  readonly opened: number;
  /** Audit session of all processes of the connection; absent if pam_loginuid did not run before the hook. */
  readonly session?: number;
  /** Whether processes that the connection leaves on the host, outside any container, are ended too. */
  readonly hostProcesses?: boolean;
  /** The other end of sshd's TCP connection, from the kernel: the balancer's. With `balancer_log` in ssh.yml. */
  readonly peer?: Endpoint;
  /** The client, if the balancer's log had the connection when it was opened. */
  readonly client?: Endpoint;
  /** sshd's own end. */
  readonly local?: Endpoint;
  /** Whether the ends were not looked up, because this host has too many TCP connections. */
  readonly placesUnknown?: true;
  /** The systemd unit of the listening sshd: `berth-sshd@NAME.service`, or the host's own. */
  readonly unit?: string;
}

/** `PID.STARTTIME` of sshd's monitor process, which runs as long as the connection is open. */
export function connectionId({ pid, start }: ProcessId): string {
  return `${pid}.${start}`;
}

/** @returns undefined if the text is not a connection ID: no sshd is the first process of a host. */
export function parseConnectionId(id: string): ProcessId | undefined {
  const [, pid, start] = /^([1-9][0-9]{0,9})\.([0-9]{1,20})$/.exec(id) ?? [];
  return pid === undefined || start === undefined || pid === '1'
    ? undefined
    : { pid: Number(pid), start };
}

/** Writes the record atomically: a reader sees all of it or no file. */
export function writeConnectionRecord(path: string, record: ConnectionRecord): void {
  writeStateFile(path, `${JSON.stringify(record)}\n`, 0o644);
}

/** Path of the record after the connection's cleanup has begun; its monitor may still be running. */
export function closingRecordPath(path: string): string {
  return `${path}.closing`;
}

export function markClosing(path: string): void {
  // Or it was renamed before, by a cleanup that was killed.
  unlessMissing(() => renameSync(path, closingRecordPath(path)));
}

/**
 * The record of a connection that has ended and is not cleaned up, whether or not its cleanup has begun.
 *
 * @param path as of the open connection
 * @returns as `readConnectionRecord`
 */
export function readRecordToClose(path: string): ConnectionRecord | undefined {
  return readConnectionRecord(path) ?? readConnectionRecord(closingRecordPath(path));
}

/** @returns undefined if there is no file, or its content is not a record. */
export function readConnectionRecord(path: string): ConnectionRecord | undefined {
  const { user, opened, ...rest } = mappingOrEmpty(parsedJson(textIfPresent(path)));
  return typeof user === 'string' && typeof opened === 'number'
    ? ({ user, opened, ...rest } as ConnectionRecord)
    : undefined;
}
