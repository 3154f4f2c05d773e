import type { ClientResult } from './run-client.ts';

/** Thrown by a case that cannot run, because something is missing here or in the session: a program, `--motd`, `.hushlogin`. */
export class Skip extends Error {}

/** @throws Error with both values, shortened, if their JSON differs */
export function assertEqual(what: string, got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) === JSON.stringify(wanted)) return;
  throw new Error(`${what}: expected ${shown(wanted)}, got ${shown(got)}`);
}

/** @throws Error with the text, shortened, if it does not match */
export function assertMatches(what: string, text: string, pattern: RegExp): void {
  if (!pattern.test(text))
    throw new Error(`${what}: expected ${String(pattern)}, got ${shown(text)}`);
}

/** @throws Error with the program's output, shortened, if its exit code is not 0 */
export function assertSuccess(what: string, result: ClientResult): ClientResult {
  if (result.exitCode === 0) return result;
  const end = result.exitCode ?? result.signal ?? 'no exit code';
  throw new Error(`${what} exited with ${end}: ${shown(result.stderr + result.stdout.toString())}`);
}

function shown(value: unknown): string {
  const text = value === undefined ? 'undefined' : JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 300)} … ${text.slice(-300)}` : text;
}
