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
