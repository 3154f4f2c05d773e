/**
 * Reduces the start-up time of a short-lived hook. Call it first, and then write to standard error with `stderrSink()`.
 *
 * - libuv starts all its threads at the first file operation, and each change of credentials interrupts all of them. Two
 *   threads are enough for a hanging home and a name lookup at the same time.
 * - node:http2 checks whether `process.stderr` supports colours, which creates a stream for it.
 */
export function tuneStartup(env: Record<string, string | undefined>): void {
  env.UV_THREADPOOL_SIZE = '2';
  Object.defineProperty(process, 'stderr', { value: undefined, configurable: true });
}
