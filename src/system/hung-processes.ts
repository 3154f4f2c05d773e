import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { readPrivateFile, writePrivateFile } from './private-file.ts';
import { processStatus, statusField } from './proc-status.ts';
import { allPids } from './processes.ts';
import { ensureRootDirectory } from './safe-directories.ts';

/**
 * Notes for root's next programs which processes have survived SIGKILL: a user's FUSE file system can hold them for ever, so no further
 * one is started for that user meanwhile.
 *
 * @param file of root, below /run
 * @param id of a process that has got SIGKILL, or of a process group
 */
export function noteHung(file: string, id: number): void {
  const hung = allPids().filter((pid) => isPartOf(pid, id));
  if (hung.length === 0) return;
  ensureRootDirectory(dirname(file));
  writePrivateFile(file, hung.map((pid) => `${pid} ${id}\n`).join(''));
}

/** PID of a process that `noteHung` has noted in this file and that still exists. */
export function hungProcess(file: string): number | undefined {
  const noted = readPrivateFile(file, 0, 65_536);
  if (noted === undefined) return undefined;
  for (const [, pid, id] of noted.matchAll(/^(\d+) (\d+)$/gm))
    if (isPartOf(Number(pid), Number(id))) return Number(pid);
  // A later process may get the same ID.
  rmSync(file, { force: true });
  return undefined;
}

/** Whether it runs, and is this process or in its group. As `status` says, for which nobody has to wait (`pidsByUid`). */
function isPartOf(pid: number, id: number): boolean {
  const status = processStatus(pid) ?? '';
  const field = (name: string): string => statusField(status, name) ?? '';
  // The first thread of a process may end before others.
  const hasEnded = /^[ZX]?( |$)/.test(field('State')) && Number(field('Threads')) <= 1;
  return !hasEnded && (pid === id || Number.parseInt(field('NSpgid')) === id);
}
