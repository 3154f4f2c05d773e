import type { HookResult } from '../rig/site/portal.ts';

/** The demo proves what it shows: a command that ends otherwise than told ends the demo. */
export function ended<R extends HookResult>(what: string, exitCode: number, result: R): R {
  if (result.exitCode === exitCode) return result;
  const said = [result.stdout, result.stderr].filter((text) => text !== '').join('\n');
  throw new Error(`${what} ended with ${result.exitCode}, not with ${exitCode}:\n${said}`);
}
