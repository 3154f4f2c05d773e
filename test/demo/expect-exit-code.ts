import type { HookResult } from '../rig/site/portal.ts';

/** Returns the result, or stops the demo if the exit code differs. @throws Error with the command's output */
export function expectExitCode<R extends HookResult>(what: string, exitCode: number, result: R): R {
  if (result.exitCode === exitCode) return result;
  const output = [result.stdout, result.stderr].filter((text) => text !== '').join('\n');
  throw new Error(`${what} exited with ${result.exitCode} instead of ${exitCode}:\n${output}`);
}
