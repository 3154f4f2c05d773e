import {
  isRunning,
  startDetached,
  stopAll,
  type ProcessStart,
  type StartedProcess,
} from '../processes.ts';
import { readNode, writeNode, type NodePart, type NodeRecord } from './node-record.ts';

/** Processes of the node that a test can stop and start. */
export type PartName = 'kubelet' | 'containerd' | 'docker-registry';

export async function stopPart(name: PartName): Promise<void> {
  const { started } = partOf(await recorded(), name);
  await stopAll([started]);
}

/** Starts a process with its original command line, unless it is running. */
export async function startPart(name: PartName): Promise<void> {
  const record = await recorded();
  const part = partOf(record, name);
  if (await isRunning(part.started)) return;
  const again = { start: part.start, started: await startDetached(part.start) };
  const parts = record.parts.map((each) => (each === part ? again : each));
  await writeNode({ ...record, parts });
}

/** Starts a further process, which ends with the node. */
export async function addPart(start: ProcessStart): Promise<StartedProcess> {
  const record = await recorded();
  const started = await startDetached(start);
  await writeNode({ ...record, parts: [...record.parts, { start, started }] });
  return started;
}

/** Stops a process that `addPart` started. */
export async function removePart(name: string): Promise<void> {
  const record = await recorded();
  await stopAll(
    record.parts.filter(({ start }) => start.name === name).map(({ started }) => started),
  );
  await writeNode({ ...record, parts: record.parts.filter(({ start }) => start.name !== name) });
}

async function recorded(): Promise<NodeRecord> {
  const record = await readNode();
  if (record === undefined) throw new Error('no node is running');
  return record;
}

function partOf({ parts }: NodeRecord, name: PartName): NodePart {
  const found = parts.find(({ start }) => start.name === name);
  if (found === undefined) throw new Error(`the node has no process ${name}`);
  return found;
}
