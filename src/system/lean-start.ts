/**
 * Spares a short-lived hook what Node prepares for longer lives. Call it first, and write to
 * standard error with `stderrSink()` from then on.
 *
 * - libuv starts all its threads at the first file, and each change of credentials interrupts every
 *   one of them: two are enough for a home that hangs beside a name lookup.
 * - node:http2 asks whether `process.stderr` has colours, and to ask makes a stream of it.
 */
export function leanStart(env: Record<string, string | undefined>): void {
  env.UV_THREADPOOL_SIZE = '2';
  Object.defineProperty(process, 'stderr', { value: undefined, configurable: true });
}
