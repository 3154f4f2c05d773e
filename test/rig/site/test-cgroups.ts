import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

/**
 * Removes the cgroups that a host of a test made, whose processes have ended.
 *
 * @param directory the host's; its file `cgroup` has the names, which the host's start script wrote
 */
export async function removeTestCgroups(directory: string): Promise<void> {
  const names = (await readFile(join(directory, 'cgroup'), 'utf8')).split('\n').filter(Boolean);
  const remove = `mount -t cgroup2 cgroup2 /sys/fs/cgroup
    for name; do find "/sys/fs/cgroup/$name" -depth -type d -exec rmdir {} +; done`;
  await execa('unshare', ['--mount', 'bash', '-euc', remove, 'bash', ...names]);
}
