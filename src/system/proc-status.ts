import { openSync, readSync } from 'node:fs';
import { ifReadable } from './if-present.ts';
import { whileOpen } from './path-descriptor.ts';

/** Larger than any. */
const buffer = Buffer.alloc(16_384);

/** proc_pid_status(5); undefined for a process that has ended, or is hidden. The kernel always answers (`pidsByUid`). */
export function processStatus(pid: number): string | undefined {
  return ifReadable(() =>
    whileOpen(openSync(`/proc/${pid}/status`, 'r'), (descriptor) =>
      buffer.toString('latin1', 0, readSync(descriptor, buffer, 0, buffer.length, null)),
    ),
  );
}

/** @param status of `processStatus`; NaN without it */
export function realUid(status = ''): number {
  return Number.parseInt(statusField(status, 'Uid') ?? '');
}

/**
 * A field of /proc/PID/status, such as `Uid`. The first line has the name of the process, which it chooses: the kernel escapes a
 * newline there, but not other characters at which a line ends for JavaScript's `^` (proc(5), `proc_task_name` in Linux).
 *
 * @returns what stands after the colon; undefined without the field
 */
export function statusField(status: string, name: string): string | undefined {
  const start = `${name}:`;
  return status
    .split('\n')
    .slice(1)
    .find((line) => line.startsWith(start))
    ?.slice(start.length)
    .trim();
}
