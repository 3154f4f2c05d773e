import { readlinkSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { nodeDirectory } from './node-record.ts';

/**
 * The cgroup of all containers of the node, in each hierarchy. Sites in other PID namespaces can use the same
 * directories and hierarchies, so the name depends on the node's directory and the PID namespace.
 */
export const nodeCgroup = `/berth-node-${createHash('sha256')
  .update(`${nodeDirectory} ${readlinkSync('/proc/self/ns/pid')}`)
  .digest('hex')
  .slice(0, 8)}`;

/** Creates the cgroup, which kubelet requires to exist. */
export async function createCgroups(): Promise<void> {
  for (const hierarchy of await hierarchies())
    await mkdir(join(hierarchy, nodeCgroup), { recursive: true });
}

/** Removes the cgroup. All processes of the node must have exited. */
export async function removeCgroups(): Promise<void> {
  for (const hierarchy of await hierarchies()) await removeCgroup(join(hierarchy, nodeCgroup));
}

/** Removes a cgroup after those below it, as the kernel requires. */
export async function removeCgroup(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries)
    if (entry.isDirectory()) await removeCgroup(join(directory, entry.name));
  await rmdir(directory).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
}

/** The mount points of cgroup v1, or the one of v2. */
async function hierarchies(): Promise<readonly string[]> {
  const root = '/sys/fs/cgroup';
  // From the mount table: /sys/fs/cgroup can contain directories that are not mount points.
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').flatMap((line) => {
    const [, path = '', type = ''] = line.split(' ');
    return type.startsWith('cgroup') && (path === root || path.startsWith(`${root}/`))
      ? [path]
      : [];
  });
  return mounts.includes(root) ? [root] : mounts;
}
