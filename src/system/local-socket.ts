import { readFileSync, readlinkSync } from 'node:fs';

/**
 * The path at which the socket of a descriptor was reached: of an accepted connection that is the
 * listening socket's. Node has no getsockname(2) for Unix sockets; the kernel lists it by inode in
 * /proc/net/unix (proc(5)).
 *
 * @returns Nothing for what is no Unix socket with a path.
 */
export function localSocketPath(descriptor: number): string | undefined {
  const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1];
  if (inode === undefined) return undefined;
  // Num RefCount Protocol Flags Type St Inode Path
  for (const line of readFileSync('/proc/self/net/unix', 'utf8').split('\n')) {
    const fields = /^\S+ \S+ \S+ \S+ \S+ \S+ +(\d+) (\/.*)$/.exec(line);
    if (fields?.[1] === inode) return fields[2];
  }
  return undefined;
}
