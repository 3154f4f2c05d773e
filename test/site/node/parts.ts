import { isRunning, startDetached, stopAll } from '../processes.ts';
import { readNode, writeNode, type NodePart, type NodeRecord } from './record.ts';

/** What a test may take away from the node and give back. */
export type PartName = 'kubelet' | 'containerd';

export async function stopPart(name: PartName): Promise<void> {
  const { started } = partOf(await recorded(), name);
  await stopAll([started]);
}

/** Starts a part as it was started first; nothing where it runs. */
export async function startPart(name: PartName): Promise<NodeRecord> {
  const record = await recorded();
  const part = partOf(record, name);
  if (await isRunning(part.started)) return record;
  const again = { start: part.start, started: await startDetached(part.start) };
  const parts = record.parts.map((each) => (each === part ? again : each));
  await writeNode({ ...record, parts });
  return { ...record, parts };
}

async function recorded(): Promise<NodeRecord> {
  const record = await readNode();
  if (record === undefined) throw new Error('no node was started');
  return record;
}

function partOf({ parts }: NodeRecord, name: PartName): NodePart {
  const found = parts.find(({ start }) => start.name === name);
  if (found === undefined) throw new Error(`the node has no ${name}`);
  return found;
}
