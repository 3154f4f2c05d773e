import type { Client } from './client.ts';
import type { ClientResult } from './run-client.ts';

/** What sessions of Berth run in, and whether sshd starts them with a forced command. */
export type ServerTrait = 'podman' | 'pod' | 'slurm' | 'forced';

/** One thing that users do with SSH, run with a real client against any SSH server. */
export interface Case {
  readonly name: string;
  /** Programs that the client machine needs beside OpenSSH's, each with the Debian package that has it. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Why the case is known to fail, by what the server has. */
  readonly known?: Readonly<Partial<Record<ServerTrait, string>>>;
  /** Time limit of the whole case in milliseconds; default 90 s. */
  readonly timeoutMs?: number;
  /** @throws Error with the expected and the actual value, or `Skip` */
  readonly run: (client: Client) => Promise<void>;
}

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
