import type { ClientResult } from '../rig/node/client.ts';
import type { Client } from './client.ts';

/** One use of SSH. */
export interface Case {
  readonly name: string;
  /** Debian packages that the clients need. */
  readonly packages?: readonly string[];
  /** What plain sshd does differently, and why that is correct there. */
  readonly differs?: string;
  /** Time limit for the case; 90 s by default. Milliseconds. */
  readonly timeoutMs?: number;
  /** @throws {Error} with expected and actual values; {Skip} if it cannot be tried */
  readonly run: (client: Client) => Promise<void>;
}

/** Thrown if a case cannot be tried on this host, for example because a program is missing. */
export class Skip extends Error {}

/** @throws {Error} with both values, shortened, if they differ */
export function same(what: string, got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) === JSON.stringify(wanted)) return;
  throw new Error(`${what}: wanted ${shown(wanted)}, got ${shown(got)}`);
}

/** @throws {Error} with the text, shortened, if it does not match */
export function matches(what: string, text: string, pattern: RegExp): void {
  if (!pattern.test(text))
    throw new Error(`${what}: wanted ${String(pattern)}, got ${shown(text)}`);
}

/** @throws {Error} with the program's output if its exit code is not 0 */
export function succeeded(what: string, result: ClientResult): ClientResult {
  if (result.exitCode === 0) return result;
  const end = result.exitCode ?? result.signal ?? 'nothing';
  throw new Error(`${what} ended with ${end}: ${shown(result.stderr + result.stdout.toString())}`);
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return JSON.stringify(text.length > 600 ? `${text.slice(0, 300)} … ${text.slice(-300)}` : text);
}
