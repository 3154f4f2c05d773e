import { setFlagsFromString } from 'node:v8';

/**
 * V8's optimizing compilers take five megabytes of memory as soon as they compile anything. A process that only relays
 * bytes for a whole session does not become measurably faster by them.
 */
const flags = [
  '--no-opt',
  // For WebAssembly: for its code, and for the wrapper that calls it, which is otherwise optimized at the 1000th call.
  '--liftoff-only',
  '--wasm-wrapper-tiering-budget=2147483647',
];

/**
 * Turns the optimizing compilers off. Call it after everything is loaded, because Node compiles its own code again
 * once flags have changed, and before much has run: the memory of a compiler that has run is not released.
 */
export function disableJit(): void {
  for (const flag of flags) setFlagsFromString(flag);
}
