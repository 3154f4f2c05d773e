import { closeSync, openSync, readSync } from 'node:fs';

/** What may still be read of the kernel's lists; a user can open hundreds of thousands of sockets. */
export interface ReadBudget {
  /** Bytes. */
  left: number;
  /** Whether a list was not read to its end because of it. */
  exceeded: boolean;
}

const partBytes = 64 * 1024;

/**
 * The complete lines of a file such as /proc/PID/net/tcp, read in parts and only as far as the caller takes them. A file
 * that cannot be opened (no IPv6, the process has ended) has none.
 */
export function* linesWithin(path: string, budget: ReadBudget): Generator<string> {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    return;
  }
  try {
    const part = Buffer.alloc(partBytes);
    let begun = '';
    for (;;) {
      const read = readPart(descriptor, part, budget);
      if (read === 0) break;
      const lines = (begun + part.toString('latin1', 0, read)).split('\n');
      begun = lines.pop() ?? '';
      yield* lines;
    }
    if (begun !== '' && !budget.exceeded) yield begun;
  } finally {
    closeSync(descriptor);
  }
}

/** @returns 0 at the end, or if the budget is used up and there is more */
function readPart(descriptor: number, part: Buffer, budget: ReadBudget): number {
  let read: number;
  try {
    read = readSync(descriptor, part, 0, Math.max(1, Math.min(part.length, budget.left)), null);
  } catch {
    // ESRCH: the process has ended.
    return 0;
  }
  if (read > budget.left) {
    budget.exceeded = true;
    return 0;
  }
  budget.left -= read;
  return read;
}
