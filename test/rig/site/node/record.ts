import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { siteFolder } from '../folders.ts';
import type { Start, StartedProcess } from '../processes.ts';

/** A process of the node and how to start it again. */
export interface NodePart {
  readonly start: Start;
  readonly started: StartedProcess;
}

/** The running node, as `node.json` in the site's folder holds it. */
export interface NodeRecord {
  /** Differs when the harness would start another node than the one that runs. */
  readonly version: string;
  /** Of the process whose child is the node's first one. */
  readonly unshare: StartedProcess;
  /** PID of the node's first process, by which its namespaces are entered. */
  readonly init: number;
  /** Address of the node, reached from the machine by a veth pair. */
  readonly address: string;
  /** The machine's end of it. */
  readonly gateway: string;
  /** False until it was Ready once: a start that was broken off is none. */
  readonly complete: boolean;
  /** In the order of their start. */
  readonly parts: readonly NodePart[];
}

/** Everything of the node: data, logs, configuration. */
export const nodeFolder = join(siteFolder, 'node');

const file = join(nodeFolder, 'node.json');

/** The node that was started last, as far as it came. */
export async function readNode(): Promise<NodeRecord | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as NodeRecord);
}

/** Whole or not at all: another process may be reading. */
export async function writeNode(record: NodeRecord): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
