import { join } from 'node:path';
import { BerthError } from '../errors/berth-error.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { readPrivateFile } from '../system/private-file.ts';
import type { SyncMemory } from './rules/association-plan.ts';

const largestMemory = 64 * 1024 * 1024;

/** Where the runs for one cluster keep what they know, without an ending. */
export function memoryPath(stateDir: string, cluster: string): string {
  return join(stateDir, 'slurm-sync', cluster);
}

/**
 * What the last run has left; undefined before the first.
 *
 * @throws {BerthError} `slurm-accounts-unreadable`; `private-file-…`
 */
export function readMemory(path: string): SyncMemory | undefined {
  const file = `${path}.json`;
  const text = readPrivateFile(file, 0, largestMemory);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as SyncMemory;
  } catch (cause) {
    throw new BerthError(`${file} is not JSON`, {
      code: 'slurm-accounts-unreadable',
      hint: `Nothing was changed. Restore ${file} from a backup, or remove it: then Berth does not open what it has closed before.`,
      cause,
    });
  }
}

/** The directory is that of the lock, so it is there. @throws {BerthError} as `writeAtomically` */
export async function writeMemory(path: string, memory: SyncMemory): Promise<void> {
  await writeAtomically(`${path}.json`, `${JSON.stringify(memory)}\n`, { mode: 0o600 });
}
