import { join } from 'node:path';
import { berthDocument } from '../../rig/berth-document.ts';
import type { ClientOptions } from '../../../src/companions/verify/run-client.ts';
import type { SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

/** A session as `berth sessions list -o json` prints it. */
export interface ListedSession {
  readonly id: string;
  readonly user: string;
  readonly profile: string | null;
  readonly profiles: readonly string[];
  readonly backend: string | null;
  readonly name: string | null;
  readonly claimedName: string | null;
  readonly since: string;
  readonly idleSeconds: number | null;
  readonly from: string | null;
  readonly via: { readonly address: string; readonly port: number } | null;
  readonly peer: { readonly address: string; readonly port: number } | null;
  readonly local: { readonly address: string; readonly port: number } | null;
  readonly terminals: readonly string[];
  readonly processes: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

export const berth = join(installDirectory, 'berth');

/** Runs `berth` as root on the host. */
export async function berthOn(
  host: SshHost,
  args: readonly string[],
  options?: ClientOptions,
): Promise<{ readonly code: number | undefined; readonly out: string; readonly err: string }> {
  const { exitCode, stdout, stderr } = await host.asRoot([berth, ...args], options);
  return { code: exitCode, out: stdout.toString(), err: stderr };
}

export async function listed(host: SshHost, ...args: string[]): Promise<readonly ListedSession[]> {
  const { out, err } = await berthOn(host, ['sessions', 'list', '-o', 'json', ...args]);
  if (err !== '') throw new Error(err);
  return (berthDocument(out) as { readonly sessions: readonly ListedSession[] }).sessions;
}
