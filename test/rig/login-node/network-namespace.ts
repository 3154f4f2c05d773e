import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { inNetwork } from './host-namespaces.ts';
import { run } from '../../../src/companions/verify/run-client.ts';

/** Runs ip(8) in a network namespace; undefined: the machine's. */
export async function ip(network: string | undefined, ...args: string[]): Promise<void> {
  const [file = '', ...words] = inNetwork(network, ['ip', ...args]);
  assertSuccess(`ip ${args.join(' ')}`, await run(file, words));
}

/** Holds a new network namespace until its stdin ends, so that it does not outlive the test. */
export async function startHolder(): Promise<ChildProcess> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo up; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  return holder;
}

/** Path of the namespace that it holds. */
export function namespaceOf(holder: ChildProcess): string {
  return `/proc/${holder.pid}/ns/net`;
}

/** Ends the namespace, with the cables that lead to it. */
export async function endHolder(holder: ChildProcess): Promise<void> {
  const exited = once(holder, 'exit');
  holder.stdin?.end();
  await exited;
}
