import { join } from 'node:path';
import { siteDirectory } from '../directories.ts';
import { readJson, writeJson } from '../json-file.ts';
import type { ProcessStart, StartedProcess } from '../processes.ts';

/** A process of the node, and how to start it again. */
export interface NodePart {
  readonly start: ProcessStart;
  readonly started: StartedProcess;
}

/** The content of `node.json` in the site's directory: describes the running node. */
export interface NodeRecord {
  /** Version of the harness that started the node; another version starts it anew. */
  readonly version: string;
  /** The process unshare(1), whose child is the node's first process. */
  readonly unshare: StartedProcess;
  /** PID of the node's first process, used to enter its namespaces. */
  readonly init: number;
  /** Address of the node's end of the veth pair. */
  readonly address: string;
  /** Address of the machine's end of the veth pair. */
  readonly gateway: string;
  /** False until the node has been Ready, so that an interrupted start is not reused. */
  readonly complete: boolean;
  /** The node's processes, in the order of their start. */
  readonly parts: readonly NodePart[];
}

/** The node's data, logs and configuration. */
export const nodeDirectory = join(siteDirectory, 'node');

const file = join(nodeDirectory, 'node.json');

/** The record of the node, also of an incomplete start; undefined if there is none. */
export async function readNode(): Promise<NodeRecord | undefined> {
  return (await readJson(file)) as NodeRecord | undefined;
}

export async function writeNode(record: NodeRecord): Promise<void> {
  await writeJson(file, record);
}
