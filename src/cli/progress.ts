import type { Terminal } from './terminal.ts';

/** Nothing is said about what takes less, in milliseconds. */
const patience = 1000;

/**
 * Runs the work and, on a terminal, says after a second what is being waited for and for how long.
 * The line is on standard error and gone when the work is done; a pipe gets nothing.
 */
export async function withProgress<T>(
  terminal: Terminal,
  what: () => string,
  work: () => Promise<T>,
): Promise<T> {
  if (terminal.stderr.isTTY !== true) return work();
  const started = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1000);
    terminal.stderr.write(`\r\u001b[K${what()} (${seconds} s)`);
  }, patience);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (performance.now() - started >= patience) terminal.stderr.write('\r\u001b[K');
  }
}
