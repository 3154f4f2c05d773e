import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { readPrivateFile, writePrivateFile } from './private-file.ts';
import { isZombie, processStartTime, procStatFields } from './process-start.ts';
import { ensureRootDirectory } from './safe-directories.ts';

/**
 * Notes for root's next programs which processes have survived SIGKILL: a user's FUSE file system can hold them for ever, so no further
 * one is started for that user meanwhile.
 *
 * @param file of root, below /run
 * @param id of a process that has got SIGKILL, or of a process group
 */
export function noteHung(file: string, id: number): void {
  const hung = readdirSync('/proc').filter((name) => {
    const fields = /^\d+$/.test(name) ? procStatFields(Number(name)) : undefined;
    if (fields === undefined || isZombie(fields)) return false;
    return name === String(id) || fields[2] === String(id);
  });
  if (hung.length === 0) return;
  ensureRootDirectory(dirname(file));
  writePrivateFile(
    file,
    hung.map((pid) => `${pid}.${processStartTime(Number(pid)) ?? 0}\n`).join(''),
  );
}

/** PID of a process that `noteHung` has noted in this file and that still exists. */
export function hungProcess(file: string): number | undefined {
  const noted = readPrivateFile(file, 0, 65_536) ?? '';
  for (const [, pid, start] of noted.matchAll(/^(\d+)\.(\d+)$/gm))
    if (processStartTime(Number(pid)) === start) return Number(pid);
  return undefined;
}
