import { constants, fstatSync, openSync, writeSync } from 'node:fs';

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

/**
 * A log sink on standard error that needs no stream: one line, one write. A pipe that is full because
 * nobody reads it loses the line: a write that waits would hold the hook beyond its deadline.
 *
 * To be made while the process is root: the pipe is root's.
 */
export function stderrSink(): (line: string) => void {
  const descriptor = withoutWaiting();
  return (line) => {
    try {
      writeSync(descriptor, `${line}\n`);
    } catch {
      // A caller that closed the pipe, or does not read it, does not want to hear it; the login goes on.
    }
  };
}

/** A pipe is opened anew: O_NONBLOCK on descriptor 2 itself would be its other holders' as well. */
function withoutWaiting(): number {
  try {
    if (fstatSync(2).isFIFO())
      return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Closed, or somebody else's: written to as it is.
  }
  return 2;
}
