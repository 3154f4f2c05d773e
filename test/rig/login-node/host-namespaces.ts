import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { homesDirectory } from '../site/directories.ts';
import { childOf } from '../site/processes.ts';
import { waitFor } from '../wait-for.ts';
import { run } from '../../../src/companions/verify/run-client.ts';

/** Where a login node is. */
interface HostPlace {
  /** Files of the host: host-files.ts. */
  readonly directory: string;
  readonly address: string;
  readonly port: number;
  /** Path of a network namespace; undefined: the machine's. */
  readonly network: string | undefined;
}

/**
 * Starts a login node's first process, init.sh, with unshare(1) in new namespaces. It exits when its stdin is
 * closed, and all processes of the node end with it.
 *
 * @param images path of an image store, or an empty string
 * @returns the process unshare(1)
 */
export async function startHostProcess({
  directory,
  images,
  network,
}: HostPlace & { readonly images: string }): Promise<ChildProcess> {
  await mkdir(homesDirectory, { recursive: true });
  const output = await open(join(directory, 'init.log'), 'a', 0o600);
  try {
    const script = new URL('init.sh', import.meta.url).pathname;
    const namespaces = ['--mount', '--pid', '--uts', '--fork', '--kill-child'];
    const args = [...namespaces, 'bash', script, directory, homesDirectory, images];
    const [file = '', ...words] = inNetwork(network, ['unshare', ...args]);
    const child = spawn(file, words, {
      stdio: ['pipe', output.fd, output.fd],
      cwd: '/',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    });
    await once(child, 'spawn');
    return child;
  } finally {
    await output.close();
  }
}

/** Waits until sshd answers. @returns the PID of the login node's first process */
export async function firstProcess(unshare: ChildProcess, place: HostPlace): Promise<number> {
  const log = () => readFile(join(place.directory, 'init.log'), 'utf8').catch(() => '');
  return await waitFor(
    {
      ...{ what: 'sshd to answer', timeoutMs: 60_000, everyMs: 20 },
      alive: async () => {
        if (unshare.exitCode !== null) throw new Error(`the host exited: ${await log()}`);
      },
    },
    async () => ((await answers(place)) ? childOf(unshare.pid) : undefined),
  );
}

/** A command line that runs in a network namespace, if one is given. The command keeps the PID of nsenter(1). */
export function inNetwork(network: string | undefined, argv: readonly string[]): readonly string[] {
  return network === undefined ? argv : ['nsenter', `--net=${network}`, '--', ...argv];
}

async function answers({ address, port, network }: HostPlace): Promise<boolean> {
  const script = `exec 3<>/dev/tcp/${address}/${port} && read -r -t 5 <&3`;
  const [file = '', ...words] = inNetwork(network, ['bash', '-c', script]);
  return (await run(file, words)).exitCode === 0;
}
