import { existsSync } from 'node:fs';
import { pidsByUid } from './processes.ts';
import { runProgramSync } from './run-program.ts';

/** How long a look at one process may take. Milliseconds. */
const timeoutMs = 2_000;

/** How many files of /proc are named on one argv: far below the system's limit. */
const mostAtOnce = 10_000;

/**
 * Users one of whose processes holds up all who look at it (`pidsByUid`). Another program looks first: it can be killed, also while it waits.
 *
 * @returns UIDs, never root's
 */
export function silentUsers(): ReadonlySet<number> {
  const silent = new Set<number>();
  let left = [...pidsByUid()].flatMap(([uid, pids]) =>
    uid === 0 ? [] : pids.map((pid) => ({ uid, file: `/proc/${pid}/stat` })),
  );
  while (left.length > 0) {
    const part = left.slice(0, mostAtOnce);
    // It prints the name of each file as soon as it has read it.
    const names = ['--line-buffered', '-als', '', ...part.map(({ file }) => file)];
    const { stdout, signal } = runProgramSync('grep', names, { timeoutMs });
    if (signal === null) {
      left = left.slice(mostAtOnce);
      continue;
    }
    const read = new Set(stdout.split('\n'));
    const last = part.findLastIndex(({ file }) => read.has(file));
    // Those between have ended. If it has read any, the machine may just be slow.
    const next = part.slice(last + 1).find(({ file }) => existsSync(file));
    if (last === -1 && next !== undefined) silent.add(next.uid);
    left = left.slice(last + 1).filter(({ uid }) => !silent.has(uid));
  }
  return silent;
}
