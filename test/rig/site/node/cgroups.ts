import { readlinkSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { nodeFolder } from './record.ts';

/**
 * All containers of the node are below this cgroup, in each hierarchy. Sites in other PID namespaces
 * have the same folders and see the same hierarchies, so both are in the name.
 */
export const nodeCgroup = `/berth-node-${createHash('sha256')
  .update(`${nodeFolder} ${readlinkSync('/proc/self/ns/pid')}`)
  .digest('hex')
  .slice(0, 8)}`;

/** kubelet wants its root to be there. */
export async function makeCgroups(): Promise<void> {
  for (const hierarchy of await hierarchies())
    await mkdir(join(hierarchy, nodeCgroup), { recursive: true });
}

/** Call it when all processes of the node have ended. */
export async function removeCgroups(): Promise<void> {
  for (const hierarchy of await hierarchies()) await remove(join(hierarchy, nodeCgroup));
}

/** The kernel lets a cgroup go when nothing is in it or below it. */
async function remove(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await remove(join(folder, entry.name));
  await rmdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
}

/** The mounts of cgroup v1, or the one of v2; beside them there may be folders that are no mounts. */
async function hierarchies(): Promise<readonly string[]> {
  const root = '/sys/fs/cgroup';
  // Not what lies below the root: systemd's own names of hierarchies that are not mounted lie there, too.
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').flatMap((line) => {
    const [, path = '', type = ''] = line.split(' ');
    return type.startsWith('cgroup') && (path === root || path.startsWith(`${root}/`))
      ? [path]
      : [];
  });
  return mounts.includes(root) ? [root] : mounts;
}
