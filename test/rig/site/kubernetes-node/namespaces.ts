import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { assertRunning, childOf, startDetached, type StartedProcess } from '../processes.ts';
import { waitFor } from '../../wait-for.ts';

/** The node's namespaces. Its first process holds them: if it exits, all processes in them end. */
export interface Namespaces {
  readonly unshare: StartedProcess;
  readonly init: number;
  readonly address: string;
  readonly gateway: string;
}

/** Arguments of nsenter(1). `ip netns exec` is not used because it mounts a /sys that hides the cgroups. */
export function nsenterArgs(init: number, argv: readonly string[]): string[] {
  const kinds = ['--net', '--mount', '--pid', '--uts', '--wd=/'];
  return ['--target', String(init), ...kinds, '--', ...argv];
}

/** Starts the node's first process and connects its network to the machine's by a veth pair. */
export async function startNamespaces(directory: string, name: string): Promise<Namespaces> {
  for (const part of ['kubelet', 'log']) await mkdir(join(directory, part), { recursive: true });
  const script = new URL('init.sh', import.meta.url).pathname;
  const namespaces = ['--net', '--mount', '--pid', '--uts', '--fork', '--kill-child'];
  const unshare = await startDetached({
    name: 'init',
    command: 'unshare',
    args: [...namespaces, 'bash', script, directory, name],
    directory,
  });
  const init = await waitFor(
    {
      ...{ what: "the node's namespaces", timeoutMs: 60_000, everyMs: 20 },
      alive: () => assertRunning(unshare),
    },
    () => initOf(unshare.pid),
  );
  return { unshare, init, ...(await joinNetworks(init)) };
}

async function initOf(unshare: number): Promise<number | undefined> {
  const init = await childOf(unshare);
  await stat(`/proc/${init}/root/run/node-is-up`);
  return init;
}

/**
 * Creates a veth pair with addresses of 198.18.0.0/15, which RFC 2544 reserves for tests. The machine does not
 * forward packets of the node.
 */
async function joinNetworks(init: number): Promise<{ address: string; gateway: string }> {
  const { stdout: taken } = await execa('ip', ['-4', '-oneline', 'address']);
  const free = Array.from({ length: 256 }, (_, index) => `198.18.${index}`).find(
    (network) => !taken.includes(` ${network}.`),
  );
  if (free === undefined) throw new Error('all networks of 198.18.0.0/16 are in use');
  const [gateway, address] = [`${free}.1`, `${free}.2`];
  // Unique on this machine; a PID would not be, since sites can run in several PID namespaces.
  const device = `berth-${free.split('.').at(-1)}`;
  const inside = (...ipArgs: string[]) => execa('nsenter', nsenterArgs(init, ['ip', ...ipArgs]));
  await execa('ip', [
    ...['link', 'add', device, 'type', 'veth'],
    ...['peer', 'name', 'eth0', 'netns', String(init)],
  ]);
  await execa('ip', ['address', 'add', `${gateway}/30`, 'dev', device]);
  await execa('ip', ['link', 'set', device, 'up']);
  await inside('address', 'add', `${address}/30`, 'dev', 'eth0');
  await inside('link', 'set', 'eth0', 'up');
  await inside('route', 'add', 'default', 'via', gateway);
  return { address, gateway };
}
