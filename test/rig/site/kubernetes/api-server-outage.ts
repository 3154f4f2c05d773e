import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { readProcesses, replaceProcess } from '../site-record.ts';
import {
  assertRunning,
  isRunning,
  startDetached,
  stopAll,
  type StartedProcess,
} from '../processes.ts';
import type { Site } from '../site.ts';
import { withSiteLocked } from '../start.ts';
import { waitFor } from '../../wait-for.ts';

const name = 'kube-apiserver';

/**
 * Ends the site's API server, runs `during`, and starts the API server again, also if `during` throws. If the
 * test is killed meanwhile, the next run starts the site again. The site's lock is held, so `during` must not
 * call `openSite`.
 *
 * @param signal SIGKILL simulates a crash, and closes open connections at once
 */
export async function withoutApiServer<T>(
  site: Site,
  during: () => Promise<T>,
  signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL',
): Promise<T> {
  return withSiteLocked(() => outage(site, during, signal));
}

async function outage<T>(
  site: Site,
  during: () => Promise<T>,
  signal: 'SIGTERM' | 'SIGKILL',
): Promise<T> {
  const running = (await readProcesses()).find((started) => started.name === name);
  if (running === undefined || !(await isRunning(running)))
    throw new Error('the site has no running API server');
  const [command = '', ...args] = (await readFile(`/proc/${running.pid}/cmdline`, 'utf8'))
    .split('\0')
    .slice(0, -1);
  if (signal === 'SIGKILL') process.kill(running.pid, signal);
  else await stopAll([running]);
  const gone = { what: `${name} to stop`, timeoutMs: 60_000, everyMs: 20 };
  await waitFor(gone, () => refuses(site.server));
  try {
    return await during();
  } finally {
    const started = await startDetached({ name, command, args, directory: dirname(running.log) });
    await replaceProcess(running, started);
    await answers(site, started);
  }
}

/** Whether the port is closed. The threads of a killed process can hold its sockets for a moment. */
function refuses(server: string): Promise<true | undefined> {
  const { hostname, port } = new URL(server);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' ? true : undefined),
    );
  });
}

/** Waits until the admin can use the API server: RBAC takes a moment after the start. */
async function answers(site: Site, started: StartedProcess): Promise<void> {
  const alive = (): Promise<void> => assertRunning(started);
  await waitFor({ what: `${name} to be ready`, timeoutMs: 60_000, alive }, async () => {
    const { exitCode, stderr } = await site.kubectl(['get', '--raw', '/readyz']);
    if (exitCode !== 0) throw new Error(stderr);
    return true;
  });
}
