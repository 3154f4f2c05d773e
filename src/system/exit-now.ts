import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  writeSync,
} from 'node:fs';

/** How long to wait for pending operations, in milliseconds. A hung file system would block forever. */
const timeoutMs = 100;

/**
 * Ends the process with this exit code, even if connections are open or a file system does not respond. exit(3) would wait
 * for a thread that hangs in a system call; execve(2) kills it. A user's FUSE file system can hold the thread beyond that: then the
 * shell that waits for this process ends without it.
 *
 * @param shell PID of that shell (`waitingShell` in scripts/outputs.ts); undefined: none waits
 */
export function exitNow(code: number, shell?: string): void {
  const end = performance.now() + timeoutMs;
  const look = (): void => {
    if (!stuckThreads()) process.exit(code);
    if (performance.now() > end) {
      if (shell === String(process.ppid)) leaveShell();
      process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
    }
    setImmediate(look);
  };
  look();
}

/** Who has started the shell reads its pipes to their end, so this process must not hold them. */
function leaveShell(): void {
  const target = (descriptor: number | string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return '';
    }
  };
  const standard = [0, 1, 2].map(target);
  for (const descriptor of readdirSync('/proc/self/fd'))
    if (standard.includes(target(descriptor))) closeSync(Number(descriptor));
  process.kill(process.ppid, 'SIGUSR1');
}

/** Whether libuv's threads work on a file or look a name up, so that exit(3) would wait for a dead file or name server. */
export function stuckThreads(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(?:FSReq|GetAddrInfoReq)/.test(name));
}

/**
 * Returns a log sink on standard error, with one write for each line and without a stream. If standard error is a full
 * pipe, the line is lost: a blocking write would hold the hook beyond its deadline.
 *
 * Call it while the process is root, because the pipe belongs to root.
 */
export function stderrSink(): (line: string) => void {
  const descriptor = withoutWaiting();
  return (line) => {
    try {
      writeSync(descriptor, `${line}\n`);
    } catch {
      // The caller has closed the pipe or does not read it. The login continues.
    }
  };
}

/** Opens a pipe again: O_NONBLOCK on descriptor 2 itself would affect the other processes that hold it. */
function withoutWaiting(): number {
  try {
    if (fstatSync(2).isFIFO())
      return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // It cannot be opened again, so descriptor 2 is used as it is.
  }
  return 2;
}
