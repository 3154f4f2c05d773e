import { setFlagsFromString } from 'node:v8';

/**
 * V8's optimizing compilers are five megabytes of a process as soon as they compile anything, and a process
 * that stays for a whole session and hands bytes on gains nothing by them that could be seen.
 */
const flags = [
  '--no-opt',
  // Of WebAssembly: that of the code, and that of what calls it, which else comes with the 1000th call.
  '--liftoff-only',
  '--wasm-wrapper-tiering-budget=2147483647',
];

/**
 * Call it when all is loaded, since Node's own code is compiled anew where flags were changed, and before
 * there is much to do: an optimizing compiler that ran once stays.
 */
export function staySmall(): void {
  for (const flag of flags) setFlagsFromString(flag);
}
