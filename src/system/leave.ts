import { writeSync } from 'node:fs';

/**
 * Ends the process with this exit code even while a thread is stuck in a file system that does not
 * answer: exit(3) would wait for that thread, execve(2) kills it.
 */
export function leave(code: number): never {
  process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
  throw new Error('execve(2) is missing: Node 22.15 or later is needed');
}

/** A log sink on standard error that needs no stream: one line, one write. */
export function stderrSink(line: string): void {
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // A caller that closed the pipe does not want to hear it; the login goes on.
  }
}
