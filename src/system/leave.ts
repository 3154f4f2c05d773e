import { writeSync } from 'node:fs';

/** A close that is on its way takes less than a millisecond; a hung file system takes for ever. */
const patience = 100;

/**
 * Ends the process with this exit code, whatever is still open: an idle connection, a file system
 * that does not answer. exit(3) would wait for a thread that hangs in one; execve(2) kills it.
 */
export function leave(code: number): void {
  const end = performance.now() + patience;
  const look = (): void => {
    if (!stuckThreads()) process.exit(code);
    if (performance.now() > end) process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
    setImmediate(look);
  };
  look();
}

/** True while work of libuv's threads has not come back. */
function stuckThreads(): boolean {
  return process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq'));
}

/** A log sink on standard error that needs no stream: one line, one write. */
export function stderrSink(line: string): void {
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // A caller that closed the pipe does not want to hear it; the login goes on.
  }
}
