import { writeSync } from 'node:fs';

/**
 * Ends the process with this exit code, whatever is still open: an idle connection, a file system
 * that does not answer. exit(3) would wait for a thread that hangs in one; execve(2) kills it.
 */
export function leave(code: number): void {
  if (stuckThreads()) process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
  process.exit(code);
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
