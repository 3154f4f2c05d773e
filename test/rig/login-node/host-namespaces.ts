import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { homesDirectory } from '../site/directories.ts';
import { childOf } from '../site/processes.ts';
import { waitFor } from '../site/wait.ts';

/**
 * Starts a login node's first process, init.sh, with unshare(1) in new namespaces. It exits when its stdin is
 * closed, and all processes of the node end with it.
 *
 * @param directory files of the host: host-files.ts
 * @param images path of an image store, or an empty string
 * @returns the process unshare(1)
 */
export async function startHostProcess(directory: string, images: string): Promise<ChildProcess> {
  await mkdir(homesDirectory, { recursive: true });
  const output = await open(join(directory, 'init.log'), 'a', 0o600);
  try {
    const script = new URL('init.sh', import.meta.url).pathname;
    const namespaces = ['--mount', '--pid', '--uts', '--fork', '--kill-child'];
    const args = [...namespaces, 'bash', script, directory, homesDirectory, images];
    const child = spawn('unshare', args, {
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
export async function firstProcess(
  unshare: ChildProcess,
  directory: string,
  port: number,
): Promise<number> {
  const log = () => readFile(join(directory, 'init.log'), 'utf8').catch(() => '');
  return await waitFor(
    {
      ...{ what: 'sshd to answer', timeoutMs: 20_000, everyMs: 20 },
      alive: async () => {
        if (unshare.exitCode !== null) throw new Error(`the host exited: ${await log()}`);
      },
    },
    async () => ((await answers(port)) ? childOf(unshare.pid) : undefined),
  );
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
