import { stopAll } from '../processes.ts';
import { removeCgroups } from './cgroups.ts';
import { readNode } from './node-record.ts';

/** Stops the node. Its mounts and its network end with its first process. */
export async function stopNode(): Promise<void> {
  const node = await readNode();
  if (node === undefined) return;
  const parts = node.parts.map(({ started }) => started);
  await stopAll([...parts.toReversed(), node.unshare]);
  await removeCgroups();
}
