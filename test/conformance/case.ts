import type { ClientResult } from '../rig/node/client.ts';
import type { Client } from './client.ts';

/** Something that users do with SSH today. */
export interface Case {
  readonly name: string;
  /** Debian packages of the machine that the clients run on. */
  readonly packages?: readonly string[];
  /** What a plain sshd does otherwise, and why that is right there. */
  readonly differs?: string;
  /** Milliseconds that the whole case may take; 90 s where not said. */
  readonly timeoutMs?: number;
  /** @throws Error that says what was wanted and what came, or `Skip` */
  readonly run: (client: Client) => Promise<void>;
}

/** Thrown by a case that says nothing about this host, e.g. because a program is not there. */
export class Skip extends Error {}

/** @throws Error with both values, shortened, when they differ */
export function same(what: string, got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) === JSON.stringify(wanted)) return;
  throw new Error(`${what}: wanted ${shown(wanted)}, got ${shown(got)}`);
}

/** @throws Error with the text, shortened, when it does not match */
export function matches(what: string, text: string, pattern: RegExp): void {
  if (!pattern.test(text))
    throw new Error(`${what}: wanted ${String(pattern)}, got ${shown(text)}`);
}

/** @throws Error with what the program said when it did not end with 0 */
export function succeeded(what: string, result: ClientResult): ClientResult {
  if (result.exitCode === 0) return result;
  const end = result.exitCode ?? result.signal ?? 'nothing';
  throw new Error(`${what} ended with ${end}: ${shown(result.stderr + result.stdout.toString())}`);
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return JSON.stringify(text.length > 600 ? `${text.slice(0, 300)} … ${text.slice(-300)}` : text);
}
