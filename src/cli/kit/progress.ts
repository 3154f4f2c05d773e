import type { Terminal } from './terminal.ts';

/** Shorter work shows no progress. Milliseconds. */
const delayMs = 1000;

/**
 * Runs the work and, on a terminal, shows after a second what it waits for and for how long. The line is on standard
 * error (none for an empty text, during a question) and is removed when the work is done; a pipe gets nothing, and
 * nobody with `--quiet`.
 */
export async function withProgress<T>(
  terminal: Terminal,
  what: () => string,
  work: () => Promise<T>,
): Promise<T> {
  if (terminal.stderr.isTTY !== true || terminal.wanted?.quiet === true) return work();
  const started = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1000);
    const text = what();
    if (text !== '') terminal.stderr.write(`\r\u001b[K${text} (${seconds} s)`);
  }, delayMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (performance.now() - started >= delayMs) terminal.stderr.write('\r\u001b[K');
  }
}
