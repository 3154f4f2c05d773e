import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { assertRunning, startDetached, type StartedProcess } from '../processes.ts';
import { waitFor } from '../wait.ts';

/** Namespaces of the node, held by its first process: they and all in them end with it. */
export interface Namespaces {
  readonly unshare: StartedProcess;
  readonly init: number;
  readonly address: string;
  readonly gateway: string;
}

/** nsenter(1) and its options; `ip netns exec` would mount a /sys that hides the cgroups. */
export function entering(init: number, argv: readonly string[]): string[] {
  const kinds = ['--net', '--mount', '--pid', '--uts', '--wd=/'];
  return ['--target', String(init), ...kinds, '--', ...argv];
}

/** Starts the node's first process and joins its network with the machine's by a veth pair. */
export async function startNamespaces(folder: string, name: string): Promise<Namespaces> {
  for (const part of ['kubelet', 'log']) await mkdir(join(folder, part), { recursive: true });
  const script = new URL('init.sh', import.meta.url).pathname;
  const namespaces = ['--net', '--mount', '--pid', '--uts', '--fork', '--kill-child'];
  const unshare = await startDetached({
    name: 'init',
    command: 'unshare',
    args: [...namespaces, 'bash', script, folder, name],
    folder,
  });
  const init = await waitFor(
    {
      ...{ what: "the node's namespaces", timeoutMs: 20_000, everyMs: 20 },
      alive: () => assertRunning(unshare),
    },
    () => initOf(unshare.pid),
  );
  return { unshare, init, ...(await joinNetworks(init)) };
}

async function initOf(unshare: number): Promise<number> {
  const children = await readFile(`/proc/${unshare}/task/${unshare}/children`, 'utf8');
  const init = Number(children.trim());
  await stat(`/proc/${init}/root/run/node-is-up`);
  return init;
}

/**
 * A veth pair with addresses of 198.18.0.0/15, which RFC 2544 keeps for tests. The machine forwards
 * nothing for the node.
 */
async function joinNetworks(init: number): Promise<{ address: string; gateway: string }> {
  const { stdout: taken } = await execa('ip', ['-4', '-oneline', 'address']);
  const free = Array.from({ length: 256 }, (_, index) => `198.18.${index}`).find(
    (network) => !taken.includes(` ${network}.`),
  );
  if (free === undefined) throw new Error('no network of 198.18.0.0/16 is free');
  const [gateway, address] = [`${free}.1`, `${free}.2`];
  // No other site on this network has the same one: PIDs may be the same in another PID namespace.
  const device = `berth-${free.split('.').at(-1)}`;
  const inside = (...words: string[]) => execa('nsenter', entering(init, ['ip', ...words]));
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
